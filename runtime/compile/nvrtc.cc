#include "runtime/compile/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "heddle/error.h"
#include "runtime/compile/compiler_facts.h"
#include "runtime/compile/elf_file.h"
#include "runtime/compile/numbered_lines.h"
#include "runtime/compile/ptxas_log.h"

namespace heddle {

// NVRTC's ABI: programs are opaque pointers, results are ints of which 0 is success.
struct NvrtcApi {
  using Program = struct OpaqueProgram*;

  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*arch_count)(int* count) = nullptr;
  int (*arch_list)(int* archs) = nullptr;
  int (*create)(Program* program, const char* text, const char* name, int header_count,
                const char* const* headers, const char* const* header_names) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  int (*compile)(Program program, int option_count, const char* const* options) = nullptr;
  int (*log_size)(Program program, std::size_t* size) = nullptr;
  int (*log)(Program program, char* text) = nullptr;
  int (*ptx_size)(Program program, std::size_t* size) = nullptr;
  int (*ptx)(Program program, char* text) = nullptr;
  int (*cubin_size)(Program program, std::size_t* size) = nullptr;
  int (*cubin)(Program program, char* bytes) = nullptr;
  int major = 0;
  int minor = 0;

  void check(int result, const char* call) const {
    if (result == 0) return;
    throw Error(ErrorCategory::kDriver, "nvrtc.call",
                fmt::format("{} failed: {}", call, error_string(result)));
  }
  bool at_least(int wanted_major, int wanted_minor) const {
    return std::pair(major, minor) >= std::pair(wanted_major, wanted_minor);
  }
};

namespace {

constexpr const char* kStandard = "--std=c++17";

std::string arch_option(const std::string& arch) { return "--gpu-architecture=" + arch; }

template <typename F>
void resolve_symbol(void* library, const std::string& path, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (function == nullptr) {
    throw Error(ErrorCategory::kDriver, "nvrtc.too_old",
                fmt::format("\"{}\" has no {}; Heddle needs NVRTC 12.0 or newer", path, name));
  }
}

void expect_loadable(const std::string& path, const char* what) {
  const std::string why = why_not_loadable(path);
  if (why.empty()) return;
  throw Error(ErrorCategory::kDriver, "nvrtc.unreadable",
              fmt::format("\"{}\" is not a usable {}: {}; install it again, or set HEDDLE_NVRTC to "
                          "another one",
                          path, what, why));
}

void* open_library(const std::string& path) {
  expect_loadable(path, "libnvrtc");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw Error(ErrorCategory::kDriver, "nvrtc.missing",
                fmt::format("libnvrtc cannot be opened: {}", reason != nullptr ? reason : path));
  }
  return library;
}

std::unique_ptr<NvrtcApi> open_nvrtc(const NvrtcFiles& files) {
  // NVRTC opens its builtins by name. Those beside it are opened first, by path, so that the name
  // means them even if the loader's path does not lead there.
  if (!files.builtins.empty()) {
    expect_loadable(files.builtins, "libnvrtc-builtins");
    dlopen(files.builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  void* library = open_library(files.library);
  auto api = std::make_unique<NvrtcApi>();
  const auto resolve = [&](const char* name, auto*& function) {
    resolve_symbol(library, files.library, name, function);
  };
  resolve("nvrtcVersion", api->version);
  resolve("nvrtcGetErrorString", api->error_string);
  resolve("nvrtcGetNumSupportedArchs", api->arch_count);
  resolve("nvrtcGetSupportedArchs", api->arch_list);
  resolve("nvrtcCreateProgram", api->create);
  resolve("nvrtcDestroyProgram", api->destroy);
  resolve("nvrtcCompileProgram", api->compile);
  resolve("nvrtcGetProgramLogSize", api->log_size);
  resolve("nvrtcGetProgramLog", api->log);
  resolve("nvrtcGetPTXSize", api->ptx_size);
  resolve("nvrtcGetPTX", api->ptx);
  resolve("nvrtcGetCUBINSize", api->cubin_size);
  resolve("nvrtcGetCUBIN", api->cubin);
  api->check(api->version(&api->major, &api->minor), "nvrtcVersion");
  if (!api->at_least(12, 0)) {
    throw Error(ErrorCategory::kDriver, "nvrtc.too_old",
                fmt::format("\"{}\" is NVRTC {}.{}; Heddle needs 12.0 or newer", files.library,
                            api->major, api->minor));
  }
  if (files.major != 0 &&
      std::pair(files.major, files.minor) != std::pair(api->major, api->minor)) {
    throw Error(ErrorCategory::kDriver, "nvrtc.mismatch",
                fmt::format("\"{}\" is NVRTC {}.{}, but the builtins beside it are of {}.{}",
                            files.library, api->major, api->minor, files.major, files.minor));
  }
  return api;
}

// One program of NVRTC, destroyed with the object.
class Program {
 public:
  Program(const NvrtcApi& api, const Source& source) : api_(api) {
    api.check(
        api.create(&program_, source.text.c_str(), source.file_name.c_str(), 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  }
  ~Program() { api_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int compile(const std::vector<const char*>& options) {
    return api_.compile(program_, static_cast<int>(options.size()), options.data());
  }
  std::string log() const { return text(api_.log_size, api_.log, "nvrtcGetProgramLog"); }
  std::string ptx() const { return text(api_.ptx_size, api_.ptx, "nvrtcGetPTX"); }
  std::vector<std::uint8_t> cubin() const {
    std::size_t size = 0;
    api_.check(api_.cubin_size(program_, &size), "nvrtcGetCUBINSize");
    std::vector<std::uint8_t> bytes(size);
    if (size > 0) {
      api_.check(api_.cubin(program_, reinterpret_cast<char*>(bytes.data())), "nvrtcGetCUBIN");
    }
    return bytes;
  }

 private:
  using SizeFunction = int (*)(NvrtcApi::Program, std::size_t*);
  using TextFunction = int (*)(NvrtcApi::Program, char*);

  // NVRTC's sizes count the terminating zero.
  std::string text(SizeFunction size_of, TextFunction get, const char* call) const {
    std::size_t size = 0;
    api_.check(size_of(program_, &size), call);
    std::string result(size, '\0');
    if (size > 0) api_.check(get(program_, result.data()), call);
    while (!result.empty() && result.back() == '\0') result.pop_back();
    return result;
  }

  const NvrtcApi& api_;
  NvrtcApi::Program program_ = nullptr;
};

Binary read_binary(const Program& program, const Source& source, const PtxasReport& report) {
  Binary binary;
  binary.kernel_name = source.kernel_name;
  binary.arch = source.arch;
  binary.cubin = program.cubin();
  binary.ptx = program.ptx();
  binary.registers = report.registers;
  binary.spill_bytes = report.spill_store_bytes + report.spill_load_bytes;
  binary.local_bytes = report.stack_bytes;
  binary.static_shared_bytes = report.shared_bytes;
  binary.dynamic_shared_bytes = source.dynamic_shared_bytes;
  binary.threads = source.threads;
  if (binary.cubin.empty()) {
    throw Error(ErrorCategory::kUsage, "nvrtc.no_cubin",
                fmt::format("NVRTC makes no machine code for \"{}\"; name a real architecture such "
                            "as \"sm_80\"",
                            source.arch));
  }
  return binary;
}

}  // namespace

Nvrtc::Nvrtc(std::string last_folder) : last_folder_(std::move(last_folder)) {}
Nvrtc::~Nvrtc() = default;

const NvrtcFiles& Nvrtc::files() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (files_) return *files_;
  NvrtcFiles files = find_nvrtc(last_folder_);
  if (files.major == 0) {
    // The folder holds builtins of several versions or none: ask the library which it wants.
    if (!api_) api_ = open_nvrtc(files);
    files.major = api_->major;
    files.minor = api_->minor;
    std::error_code none;  // a link that leads nowhere is taken as it is
    std::filesystem::path library = std::filesystem::canonical(files.library, none);
    if (none) library = files.library;
    const std::filesystem::path wanted =
        library.parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", files.major, files.minor);
    if (std::filesystem::exists(wanted, none)) {
      expect_loadable(wanted.string(), "libnvrtc-builtins");  // which the library opens
    }
    files.builtins_build_id = read_file_identity(wanted.string());
  }
  files_ = std::move(files);
  return *files_;
}

const NvrtcApi& Nvrtc::api() {
  const NvrtcFiles& found = files();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!api_) api_ = open_nvrtc(found);
  return *api_;
}

std::string Nvrtc::identity() { return files().identity(); }

std::vector<int> Nvrtc::archs() {
  const NvrtcApi& nvrtc = api();
  int count = 0;
  nvrtc.check(nvrtc.arch_count(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> archs(static_cast<std::size_t>(count));
  nvrtc.check(nvrtc.arch_list(archs.data()), "nvrtcGetSupportedArchs");
  std::sort(archs.begin(), archs.end());
  return archs;
}

Binary Nvrtc::compile(const Source& source, std::string* warnings) {
  const NvrtcApi& nvrtc = api();
  if (const auto why = why_not_compilable(source.arch, {nvrtc.major, nvrtc.minor}, archs())) {
    throw Error(ErrorCategory::kUnsupported, "nvrtc.architecture",
                fmt::format("{} (it is \"{}\")", *why, files().library));
  }
  const std::string arch = arch_option(source.arch);
  // Without the first of these NVRTC changes the stack limit of the whole process while it works.
  std::vector<const char*> options = {arch.c_str(), kStandard, "--modify-stack-limit=false",
                                      "--ptxas-options=-v"};
  // From 12.9 on the driver's cache of compilations would answer in place of the compiler.
  if (nvrtc.at_least(12, 9)) options.push_back("--no-cache");

  Program program(nvrtc, source);
  const auto start = std::chrono::steady_clock::now();
  const int result = program.compile(options);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  const std::string log = program.log();
  if (result != 0) {
    throw Error(ErrorCategory::kCompile, "nvrtc.compile",
                fmt::format("NVRTC could not compile {} for {}: {}", source.kernel_name,
                            source.arch, nvrtc.error_string(result)),
                log + "\n" + numbered_lines(source.text));
  }
  const PtxasReport report = parse_ptxas_log(log);
  if (warnings != nullptr) *warnings = report.other_lines;
  Binary binary = read_binary(program, source, report);
  binary.compiler = identity();
  binary.compile_ms = elapsed.count();
  return binary;
}

std::string compile_options_text(const std::string& arch) {
  return arch_option(arch) + " " + kStandard;
}

}  // namespace heddle
