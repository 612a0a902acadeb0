// Runtime: compiles, caches and loads kernels. It, the kernels that it loads and Uploader are the
// only parts of the API that touch CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"
#include "heddle/kernel.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "heddle/tuned.h"

namespace heddle {

struct Binary;  // heddle/inspect/binary.h
struct Source;  // heddle/inspect/source.h

enum class LogLevel { kDebug, kInfo, kWarning, kError };
using LogCallback = std::function<void(LogLevel, std::string_view)>;

struct RuntimeOptions {
  // Folder of the disk cache, or layers: "rw:/folder:ro:/image/layer:ro:/image/model.hdl", where
  // ".hdl" is a bundle. Empty: $HEDDLE_CACHE, else $XDG_CACHE_HOME/heddle, else ~/.cache/heddle,
  // else memory only.
  std::string cache_dir;
  // More read-only layers, searched after those of cache_dir.
  std::vector<std::string> read_only_roots;
  bool disk_cache = true;
  std::int64_t cache_max_bytes = std::int64_t{1} << 30;
  // Compiles nothing: a kernel that no layer has is Error(kMissing, "runtime.not_in_cache").
  bool strict = false;
  // Specs that kernels are asked for are added to this file; `heddle bundle create` compiles them
  // elsewhere. Empty: $HEDDLE_RECORD, else nothing is recorded.
  std::string record_file;
  // Files of tuned tables (heddle/tuned.h), "first.json:second.json", each merged over those before
  // it and over the tables of the cache's bundles or, for a GPU of which no bundle has one, that
  // come with Heddle; "none", alone or as the first name, leaves those out. Empty: $HEDDLE_TUNED.
  // They are read once, for the first kernel that is planned.
  std::string tuned_tables;
  // A folder in which libnvrtc is looked for after all other places (README.md).
  std::string nvrtc_dir;
  int jobs = 0;  // compilations at a time; 0: min(cores, 8)
  // Called from any thread, one call at a time; it must not call the Runtime. None: what the level
  // in $HEDDLE_LOG (debug, info, warning, error, off) asks for goes to stderr, without it nothing.
  LogCallback log;
};

// One source on its way through the cache and the compiler.
struct BuildResult {
  std::string kernel_name;
  std::string key;  // hex digest of (source, target, compiler)
  bool hit = false;
  bool stored = true;  // the next process will find it in the disk cache
  double ms = 0;       // wall time of this call for this kernel
  std::shared_ptr<const Binary> binary;
};

// Called after each kernel is ready, one call at a time; false cancels: nothing more is begun.
using BuildProgress = std::function<void(const BuildResult&, std::size_t done, std::size_t total)>;
using PrepareProgress =
    std::function<bool(const BuildResult&, std::size_t done, std::size_t total)>;

// A kernel that is being made in the background. Copies share the work; any thread may use one.
class HEDDLE_EXPORT KernelRequest {
 public:
  // Whether making it has ended, well or not.
  bool ready() const;
  // Waits for it. Throws what making it threw.
  Kernel wait() const;

  // What to launch on `stream` now, without waiting: the kernel once it is ready, until then a
  // prepared general one, which reads the same weights but may round sums otherwise. The streams of
  // a capture all get the same one. For requests of prepare() one workspace does for both. Throws
  // Error(kMissing, "runtime.not_ready") where there is neither, or what making the kernel threw.
  Kernel kernel(Stream stream) const;

  struct State;
  explicit KernelRequest(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

struct PreparationStatus {
  std::size_t done = 0;   // kernels that the background has compiled
  std::size_t total = 0;  // that this call has left to it; 0: none
  bool ended = false;     // well or not: nothing more is made
};

// What prepare() with urgent ranges has begun. Copies share the work, which goes on without them;
// any thread may use one.
class HEDDLE_EXPORT Preparation {
 public:
  // One for each spec, in their order. KernelRequest::kernel(stream) is what to launch now.
  const std::vector<KernelRequest>& requests() const noexcept;
  PreparationStatus status() const;
  // Waits until nothing more is made. Throws what the first kernel that failed threw; the log has
  // all of them.
  void wait() const;
  // Begins no further compilation. Waiting for specs that are not ready is then Error(kCancelled,
  // "runtime.cancelled"); they are served as they were.
  void cancel() const;

  struct State;
  explicit Preparation(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

// May be used from any thread. Creating one loads nothing: libnvrtc is opened on the first cache
// miss, libcuda on the first call that needs a device. After a fork calls that need the driver
// throw Error(kDriver, "driver.forked") in the child if the parent had used it.
class HEDDLE_EXPORT Runtime {
 public:
  // Throws Error(kUsage): "cache.roots", "tuned.list", "path.null_byte", "runtime.jobs",
  // "log.level"; Error(kFile, "statistics.unwritable"): $HEDDLE_STATS cannot be written.
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Compiles what the cache lacks, in parallel; needs no GPU. Results are in the order of the
  // sources. Throws Error(kCompile) for the first source that fails, after all have ended, and, as
  // does whatever makes or finds a kernel, Error(kFile, "dump.unwritable"): $HEDDLE_DUMP cannot be
  // written.
  std::vector<BuildResult> build(const std::vector<Source>& sources,
                                 const BuildProgress& progress = {});
  // As above, until `progress` returns false: Error(kCancelled, "runtime.cancelled").
  std::vector<BuildResult> build_cancellable(const std::vector<Source>& sources,
                                             const PrepareProgress& progress);
  // What the cache has of them, in their order; `hit` is false, without binary, for what it lacks.
  std::vector<BuildResult> find(const std::vector<Source>& sources);

  // The current context's device, or, without one, device `ordinal`. Throws Error(kDriver).
  Target device_target(int ordinal = 0);
  // Whether libcuda is there and has a device; `why_not` says what is missing.
  bool has_device(std::string* why_not = nullptr);

  // What kernels are planned with. Throws Error(kFile, "tuned.unreadable") and what
  // TunedTable::parse throws, as does everything that plans a kernel.
  const TunedTables& tuned_tables();
  // As RuntimeOptions::tuned_tables. Throws Error(kUsage, "tuned.list") and, once a kernel was
  // planned, "tuned.in_use".
  void set_tuned_tables(const std::string& list);

  // Plans, compiles or finds, and loads. In the current context; without one, in the primary
  // context of device 0. What prepare() or request() has made for this device is returned at once.
  // Breaks no capture of any thread.
  Kernel kernel(const Spec& spec);
  // As above, for use on `stream`. While that is being captured only what was prepared is served: a
  // miss is Error(kMissing, "runtime.capturing"), and the capture stays valid.
  Kernel kernel(const Spec& spec, Stream stream);
  // As the handle of an operation, kernel<GemmKernel>(spec): Error(kUsage, "kernel.operation") for
  // a spec of another one.
  template <class Handle>
  Handle kernel(const Spec& spec) {
    check_operation(spec.op(), Handle::kOp);
    return Handle(kernel(spec));
  }
  template <class Handle>
  Handle kernel(const Spec& spec, Stream stream) {
    check_operation(spec.op(), Handle::kOp);
    return Handle(kernel(spec, stream));
  }

  // All kernels of a model, compiled in parallel and loaded, in the order of the specs. The Runtime
  // keeps them, so that kernel() neither compiles nor loads any of them later. Throws
  // Error(kUnsupported) or Error(kMissing) with every spec that cannot be served,
  // Error(kCancelled), and what kernel() throws.
  std::vector<Kernel> prepare(const std::vector<Spec>& specs, const PrepareProgress& progress = {});

  // These sizes first: returns once launches with an M in `urgent` (a range for each spec, or one
  // for all) have their final kernels, of which `progress` tells. Other M are served, if need be by
  // a general kernel, and get theirs from the background: ask kernel(spec, stream) or
  // KernelRequest::kernel() before each launch. Failures there are logged. The current context must
  // live until nothing more is made. Throws Error(kUsage, "runtime.urgent") for another number of
  // ranges and for a range without an M of its spec.
  Preparation prepare(const std::vector<Spec>& specs, const std::vector<MRange>& urgent,
                      const PrepareProgress& progress = {});

  // Makes the kernel in the background and keeps it as prepare() does. Throws for a spec that this
  // device cannot serve. Until it is ready a prepared kernel of the same format and a wider range
  // of M stands in, if there is one. The current context must live until it is ready.
  KernelRequest request(const Spec& spec);

  // From here on nothing more is compiled or loaded, but for what is being made: what is not ready
  // then is Error(kMissing, "runtime.sealed"), as is every load() and build(). No driver call is
  // made to refuse a spec that no device has.
  void seal();

  // As kernel(), for a plan that was resolved for this device; it is not kept.
  Kernel load(const Plan& plan);

  // Version and build-ids of the NVRTC at hand: what a cache key holds. Throws Error(kDriver).
  std::string compiler_identity();
  // The architectures that it compiles for, ascending: 75, 80, ...
  std::vector<int> compiler_archs();

  struct Impl;

 private:
  static void check_operation(Op of_spec, Op of_handle);

  std::unique_ptr<Impl> impl_;
};

}  // namespace heddle
