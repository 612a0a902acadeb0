"""The wheel: built against this build's library, installed into an empty environment, used there.

Nothing is compiled but the module, and nothing is downloaded.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

BUILD = pathlib.Path(os.environ.get("HEDDLE_BUILD_DIR", ROOT / "build/release"))
TOOLS = pathlib.Path(sys.prefix).parent
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False,
                          **options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    work = tmp_path_factory.mktemp("wheel")
    run("cmake", "--install", BUILD, "--prefix", work / "prefix")
    settings = (f"--config-settings=cmake.define.{name}={value}" for name, value in (
        ("HEDDLE_INSTALLED", "ON"), ("CMAKE_PREFIX_PATH", work / "prefix")))
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-build-isolation", "--no-deps",
        "--no-index", "--wheel-dir", work / "wheels", *settings, cwd=work)
    # What the wheel needs it holds.
    (work / "prefix").rename(work / "elsewhere")
    made, = (work / "wheels").iterdir()
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--no-index", "--find-links",
        TOOLS / "wheels", wheel)
    return folder / "bin/python"


def test_its_name_says_for_which_python_it_is(wheel):
    version = sys.version_info[:2]
    tag = "cp312-abi3" if version >= (3, 12) else "cp{0}{1}-cp{0}{1}".format(*version)
    assert re.fullmatch(rf"heddle-[0-9.]+-{tag}-linux_x86_64\.whl", wheel.name)


def test_it_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        metadata = files.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    folders = {name.split("/")[0] for name in names}
    assert {folder.rpartition(".")[2] for folder in folders} == {"heddle", "dist-info"}
    package = ROOT / "python/heddle"
    sources = {str(path.relative_to(package.parent)) for path in package.rglob("*")
               if path.suffix in {".py", ".typed"}}
    assert sources <= set(names)
    assert {"heddle/py.typed", "heddle/_heddle.pyi"} <= set(names)
    libraries = [name for name in names if ".so" in name]
    assert len(libraries) == 2, libraries
    assert not any("/tests/" in name or "/src/" in name for name in names)
    assert re.search(r"^Requires-Dist: numpy", metadata, re.MULTILINE)
    assert re.search(r"^Requires-Dist: nvidia-cuda-nvrtc.*extra == .nvrtc.", metadata, re.MULTILINE)
    needed = [line for line in metadata.splitlines()
              if line.startswith("Requires-Dist: ") and "extra ==" not in line]
    assert not any("torch" in line for line in needed), needed


def test_the_example_of_the_readme_runs_where_it_is_installed(installed, tmp_path):
    examples = EXAMPLE.findall((ROOT / "README.md").read_text())
    assert examples
    environment = {name: value for name, value in os.environ.items()
                   if name not in {"PYTHONPATH", "LD_LIBRARY_PATH"}}
    for example in examples:
        assert run(installed, "-I", "-c", example, cwd=tmp_path, env=environment)
    place = run(installed, "-I", "-c", "import heddle; print(heddle.__file__)", cwd=tmp_path)
    assert place.startswith(str(installed.parents[1]))


def test_the_command_runs_where_it_is_installed(installed, tmp_path):
    environment = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    command = installed.parent / "heddle"
    version = run(installed, "-I", "-c", "import heddle; print(heddle.__version__)", cwd=tmp_path)
    assert run(command, "--version", cwd=tmp_path, env=environment) == f"heddle {version}"
    size = run(command, "size", ROOT / "examples/models/llama-3-8b-awq/config.json", "--target",
               "h200", "--json", cwd=tmp_path, env=environment)
    assert json.loads(size)["weight_bytes"] > 0
    wrong = subprocess.run([command, "wibble"], capture_output=True, text=True, check=False,
                           env=environment)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("heddle: ")
