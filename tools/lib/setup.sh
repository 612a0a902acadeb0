# shellcheck shell=bash
# Shell functions that the developer scripts share. Source it from a bash script in tools/.
#
# need_* note what is missing and why; install_missing installs all of it with apt, or names it and
# stops. find_nvrtc and build_preset need what the others made sure of.

heddle_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
missing_packages=()

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$(basename "$0"): $*"
  exit 1
}

# timed NAME COMMAND...: runs the command, and says how long it took.
timed() {
  local name=$1 start=$SECONDS status=0
  shift
  "$@" || status=$?
  say "$(basename "$0"): $name took $((SECONDS - start)) s"
  return $status
}

jobs_of_machine() { nproc 2>/dev/null || echo 2; }

# need PACKAGE WHY COMMAND...: the package is missing if the command fails.
need() {
  local package=$1 why=$2
  shift 2
  if ! "$@" >/dev/null 2>&1; then
    missing_packages+=("$package")
    say "missing: $package ($why)"
  fi
}

has_header() {
  if command -v c++ >/dev/null; then
    echo "#include <$1>" | c++ -E -x c++ -std=c++17 - -o /dev/null
  else
    [ -e "/usr/include/$1" ]
  fi
}

has_cmake() {
  local version
  version=$(cmake --version | sed -n 's/^cmake version //p') || return 1
  printf '3.25\n%s\n' "$version" | sort --version-sort --check=quiet
}

# The static library has no header of its own: a program that links it shows that it is there.
has_static_zstd() {
  printf '#include <zstd.h>\nint main() { return ZSTD_versionNumber() == 0; }\n' |
    c++ -x c++ - -o /dev/null -l:libzstd.a
}

has_cxx20() { echo '#include <span>' | c++ -fsyntax-only -x c++ -std=c++20 -; }
has_generator() { command -v ninja || command -v make; }
# The library of a Python package from apt belongs to the system's own interpreter.
python_runs() { "$(system_python)" -c "$1"; }
system_python() { if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else echo python3; fi; }

need_build_tools() {
  need g++ "a C++20 compiler" has_cxx20
  need cmake "CMake 3.25 or newer configures the build" has_cmake
  need ninja-build "runs the build; make would do too" has_generator
  need nlohmann-json3-dev "reads specs and model configs" has_header nlohmann/json.hpp
  need libfmt-dev "formats source text and messages" has_header fmt/format.h
  need libxxhash-dev "checksums of cache entries" has_header xxhash.h
  need libzstd-dev "compresses cache entries and bundles" has_static_zstd
  need libcli11-dev "the options of the heddle command" has_header CLI/CLI.hpp
}

need_test_tools() {
  need libgtest-dev "the unit tests" has_header gtest/gtest.h
  need python3 "drives the tests of the command" python_runs 'import json'
  need python3-jsonschema "checks the spec's JSON Schema" python_runs 'import jsonschema'
  need pkgconf "tests that pkg-config finds what is installed" command -v pkg-config
}

need_fuzz_tools() {
  need clang-14 "libFuzzer is a part of clang" command -v clang++-14
  need libclang-rt-14-dev "libFuzzer and the sanitizers" has_libfuzzer
}

has_libfuzzer() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++-14 -fsanitize=fuzzer,address,undefined -x c++ - -o /dev/null
}

need_python_tools() {
  need python3-venv "keeps the Python package's tools apart" python_runs 'import ensurepip'
  need python3-dev "the Python package is built with Python.h" python_runs \
    'import os, sysconfig; open(os.path.join(sysconfig.get_path("include"), "Python.h"))'
}

# install_missing: installs what need_* noted, or names it and stops.
install_missing() {
  [ ${#missing_packages[@]} -gt 0 ] || return 0
  local packages=("${missing_packages[@]}") as_root=()
  missing_packages=()
  if ! command -v apt-get >/dev/null; then
    die "this is not a Debian or Ubuntu machine; please install: ${packages[*]}"
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      die "may not install packages here; please run: sudo apt-get install ${packages[*]}"
    fi
    as_root=(sudo -n)
  fi
  say "installing: ${packages[*]}"
  "${as_root[@]}" apt-get -q update >&2 || die "apt-get update failed"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y \
    --no-install-recommends "${packages[@]}" >&2 || die "could not install: ${packages[*]}"
}

# Version of the wheel that stands in for a CUDA toolkit.
nvrtc_wheel_version=13.0.88

# find_nvrtc BUILD_DIR [--no-toolkit], for its caller: sets nvrtc_dir to the folder of libnvrtc; to nothing where
# the loader finds it by itself. Without any, takes the wheel from PyPI into BUILD_DIR/nvrtc.
find_nvrtc() {
  local build_dir=$1 hide_toolkit=${2:-} library
  nvrtc_dir=
  if [ "$hide_toolkit" != --no-toolkit ]; then
    if loader_has_nvrtc; then
      return 0
    fi
    for library in /usr/local/cuda/lib64/libnvrtc.so.* /usr/local/cuda-*/lib64/libnvrtc.so.*; do
      if [ -e "$library" ]; then
        nvrtc_dir=$(dirname "$library")
        return 0
      fi
    done
  fi
  take_nvrtc_wheel "$build_dir/nvrtc/$nvrtc_wheel_version"
  # A toolkit that is there all the same would be found first.
  if [ "$hide_toolkit" = --no-toolkit ]; then export HEDDLE_NVRTC=$nvrtc_dir; fi
}

loader_has_nvrtc() {
  local folder folders library
  IFS=: read -ra folders <<<"${LD_LIBRARY_PATH:-}"
  for folder in "${folders[@]}"; do
    for library in "$folder"/libnvrtc.so.*; do
      [ -z "$folder" ] || [ ! -e "$library" ] || return 0
    done
  done
  # The loader's list may be older than the files.
  while read -r library; do
    if [ -e "$library" ]; then return 0; fi
  done < <({ ldconfig -p 2>/dev/null || /sbin/ldconfig -p; } |
    sed -n 's/.*libnvrtc\.so\.[0-9].* => //p')
  return 1
}

# take_nvrtc_wheel FOLDER: sets nvrtc_dir. A folder that is there is complete.
take_nvrtc_wheel() {
  local folder=$1 library
  if [ ! -d "$folder" ]; then
    say "libnvrtc is taken from PyPI: the wheel nvidia-cuda-nvrtc $nvrtc_wheel_version"
    need python3-pip "fetches NVRTC, nvidia-cuda-nvrtc, from PyPI" python_runs 'import pip'
    install_missing
    rm -rf "$folder.new"
    "$(system_python)" -m pip install --quiet --no-deps --no-compile --disable-pip-version-check \
      --root-user-action ignore --target "$folder.new" \
      "nvidia-cuda-nvrtc==$nvrtc_wheel_version" >&2 ||
      die "could not get nvidia-cuda-nvrtc $nvrtc_wheel_version from PyPI"
    mv "$folder.new" "$folder"
  fi
  library=$(find "$folder" -name 'libnvrtc.so.[0-9]*' -print -quit)
  [ -n "$library" ] || die "no libnvrtc.so in $folder; remove that folder and try again"
  # shellcheck disable=SC2034  # the caller reads it
  nvrtc_dir=$(dirname "$library")
}

# prepare_python BUILD_DIR: sets python_executable to an interpreter that has what the Python package is built
# and tested with, at the versions of tools/lib/python/packages.txt, and BUILD_DIR/python/wheels to what its
# wheel needs. Takes them from PyPI unless they are there.
prepare_python() {
  local folder=$1/python pins=$heddle_root/tools/lib/python/packages.txt
  python_executable=$folder/venv/bin/python
  if cmp -s "$pins" "$folder/packages.txt" && "$python_executable" -c '' 2>/dev/null; then return 0; fi
  say "the tools of the Python package are taken from PyPI"
  rm -rf "$folder"
  mkdir -p "$folder"
  "$(system_python)" -m venv "$folder/venv" || die "could not make a virtual environment in $folder"
  local pip=("$python_executable" -m pip --quiet --disable-pip-version-check)
  "${pip[@]}" install --requirement "$pins" >&2 ||
    die "could not get the packages of tools/lib/python/packages.txt from PyPI"
  grep '^numpy' "$pins" >"$folder/needed.txt"
  "${pip[@]}" download --no-deps --only-binary :all: --dest "$folder/wheels" \
    --requirement "$folder/needed.txt" >&2 || die "could not get numpy from PyPI"
  # The last file: with it the folder is complete.
  cp "$pins" "$folder/packages.txt"
}

# prepare_torch BUILD_DIR: adds PyTorch and Transformers, at the versions of tools/lib/python/torch.txt, to what
# prepare_python has made.
prepare_torch() {
  local folder=$1/python pins=$heddle_root/tools/lib/python/torch.txt
  if cmp -s "$pins" "$folder/torch.txt"; then return 0; fi
  say "PyTorch and Transformers are taken from PyPI: 3 GB"
  "$python_executable" -m pip --quiet --disable-pip-version-check install --requirement "$pins" >&2 ||
    die "could not get the packages of tools/lib/python/torch.txt from PyPI"
  cp "$pins" "$folder/torch.txt"
}

# configure_preset PRESET OPTION...: ninja where it is there, unless the folder has its generator.
configure_preset() {
  local preset=$1
  shift
  local generator=()
  if [ ! -e "$heddle_root/build/$preset/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
  fi
  (cd "$heddle_root" && cmake --preset "$preset" "${generator[@]}" "$@") >&2 ||
    die "cmake could not configure the build"
}

# build_preset PRESET TARGET...: the targets, or all.
build_preset() {
  local preset=$1
  shift
  local targets=()
  if [ $# -gt 0 ]; then targets=(--target "$@"); fi
  (cd "$heddle_root" && timed "the build" cmake --build --preset "$preset" -j "$(jobs_of_machine)" \
    "${targets[@]}") >&2 || die "the build failed"
}
