// Runtime: compiles, caches and loads kernels. The only part of the API that touches CUDA or disk.
#ifndef HEDDLE_RUNTIME_H_
#define HEDDLE_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/binary.h"
#include "heddle/export.h"
#include "heddle/kernel.h"
#include "heddle/source.h"
#include "heddle/spec.h"
#include "heddle/target.h"

namespace heddle {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
using LogCallback = std::function<void(LogLevel, std::string_view)>;

struct RuntimeOptions {
  // Folder of the disk cache, or layers: "rw:/folder:ro:/image/layer:ro:/image/model.hdl". Empty:
  // $HEDDLE_CACHE, else $XDG_CACHE_HOME/heddle, else ~/.cache/heddle, else memory only. A layer
  // whose name ends in ".hdl" is a bundle.
  std::string cache_dir;
  // More read-only layers, searched after those of cache_dir.
  std::vector<std::string> read_only_roots;
  bool disk_cache = true;
  std::int64_t cache_max_bytes = std::int64_t{1} << 30;
  // Compiles nothing and looks for no compiler: a kernel that no layer has is Error(kMissing,
  // "runtime.not_in_cache"), which holds the spec to add. Of kernels that several compilers made
  // the latest compiler's is taken.
  bool strict = false;
  // Every spec that a kernel is asked for is added to this file, with its target; `heddle bundle
  // create` compiles them elsewhere. Empty: $HEDDLE_RECORD, else nothing is recorded.
  std::string record_file;
  int jobs = 0;     // compilations at a time; 0: min(cores, 8)
  LogCallback log;  // called from any thread, one call at a time; none: silent
};

// One source on its way through the cache and the compiler.
struct BuildResult {
  std::string kernel_name;
  std::string key;  // hex digest of (source, target, compiler)
  bool hit = false;
  double ms = 0;  // wall time of this call for this kernel
  std::shared_ptr<const Binary> binary;
};

// Called after each kernel is ready, one call at a time.
using BuildProgress = std::function<void(const BuildResult&, std::size_t done, std::size_t total)>;

// May be used from any thread. Creating one loads nothing: libnvrtc is opened on the first cache
// miss, libcuda on the first call that needs a device.
class HEDDLE_EXPORT Runtime {
 public:
  // Throws Error(kUsage, "cache.roots") for a list of layers that is malformed.
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Compiles what the cache lacks, in parallel. Needs no GPU. The results are in the order of the
  // sources. Throws Error(kCompile) for the first source that fails, after all have ended.
  std::vector<BuildResult> build(const std::vector<Source>& sources,
                                 const BuildProgress& progress = {});

  // The current context's device, or, without one, device `ordinal`. Throws Error(kDriver).
  Target device_target(int ordinal = 0);
  // Whether libcuda is there and has a device; `why_not` says what is missing.
  bool has_device(std::string* why_not = nullptr);

  // resolve, render, compile or find, load. In the current context; without one, retains the
  // primary context of device 0 and makes it current for the call.
  Kernel kernel(const Spec& spec);
  // The same for a plan that was resolved for this device.
  Kernel load(const Plan& plan);

  // Version and build-ids of the NVRTC at hand: what a cache key holds. Throws Error(kDriver).
  std::string compiler_identity();
  // The architectures that the NVRTC at hand compiles for, ascending: 75, 80, ...
  std::vector<int> compiler_archs();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_H_
