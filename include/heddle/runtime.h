// Runtime: compiles, caches and loads kernels. With Uploader, the only part of the API that touches
// CUDA.
#ifndef HEDDLE_RUNTIME_H_
#define HEDDLE_RUNTIME_H_

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
  // Files of tuned tables (heddle/tuned.h), "first.json:second.json": each is merged over those
  // before it, and all over the tables that are there unnamed: of a GPU those of the bundles among
  // the cache's layers, an earlier layer's before a later one's; where no bundle has one, the table
  // that comes with Heddle. "none", alone or as the first name, leaves both out: nothing is used
  // but the files that follow. Empty: $HEDDLE_TUNED, else no file. They are read once, for the
  // first kernel that is planned.
  std::string tuned_tables;
  // A folder in which libnvrtc is looked for after all other places (README.md), such as that of a
  // Python wheel.
  std::string nvrtc_dir;
  int jobs = 0;  // compilations at a time; 0: min(cores, 8)
  // Called from any thread, one call at a time; it must not call the Runtime. None: messages of the
  // level that $HEDDLE_LOG names (debug, info, warning, error, off) and above go to stderr; where
  // it is not set, none do.
  LogCallback log;
};

// One source on its way through the cache and the compiler.
struct BuildResult {
  std::string kernel_name;
  std::string key;  // hex digest of (source, target, compiler)
  bool hit = false;
  // Whether the next process will find it: false for what was compiled and could not be written to
  // the disk cache, or has none to be written to.
  bool stored = true;
  double ms = 0;  // wall time of this call for this kernel
  std::shared_ptr<const Binary> binary;
};

// Called after each kernel is ready, one call at a time.
using BuildProgress = std::function<void(const BuildResult&, std::size_t done, std::size_t total)>;

// Called after each kernel is compiled or found, one call at a time; false cancels: nothing more is
// begun, and what runs is waited for.
using PrepareProgress =
    std::function<bool(const BuildResult&, std::size_t done, std::size_t total)>;

// A kernel that is being made in the background. Copies share the work; any thread may use one.
class HEDDLE_EXPORT KernelRequest {
 public:
  // Whether making it has ended, well or not.
  bool ready() const;
  // Waits for it. Throws what making it threw.
  Kernel wait() const;

  // What to launch on `stream` now, without waiting: the kernel itself once it is ready, until then
  // the general one that request() found among the prepared ones. Changes from the one to the
  // other between two calls, but never within a capture, all of whose streams get the same one, so
  // that a graph holds the one or the other; other streams may change meanwhile. The general one
  // reads the same weights, and its sums may be rounded otherwise. It may need another workspace,
  // but for requests of prepare(), both of whose kernels report what does for both.
  // Throws Error(kMissing, "runtime.not_ready") while there is neither, and what making it threw if
  // there is no general one.
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
  // Waits until nothing more is made. Throws what making the first kernel that failed threw; the
  // log has all of them. Specs of a kernel that failed are served as they were until then.
  void wait() const;
  // Compiles no more of what this call has left to the background, but for what is being compiled.
  // Specs that are not ready are served as they were until then, and waiting for them is
  // Error(kCancelled, "runtime.cancelled").
  void cancel() const;

  struct State;
  explicit Preparation(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

// May be used from any thread. In a child that was forked after the driver was used everything that
// needs the driver throws Error(kDriver, "driver.forked"). Creating one loads nothing: libnvrtc is
// opened on the first cache miss, libcuda on the first call that needs a device.
class HEDDLE_EXPORT Runtime {
 public:
  // Throws Error(kUsage) for a list that is malformed, a name with a null byte, negative jobs and a
  // $HEDDLE_LOG that names no level: "cache.roots", "tuned.list", "path.null_byte",
  // "runtime.jobs", "log.level".
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Compiles what the cache lacks, in parallel. Needs no GPU. The results are in the order of the
  // sources. Throws Error(kCompile) for the first source that fails, after all have ended.
  std::vector<BuildResult> build(const std::vector<Source>& sources,
                                 const BuildProgress& progress = {});
  // The same, until `progress` returns false: Error(kCancelled, "runtime.cancelled"). What was
  // compiled until then is in the cache.
  std::vector<BuildResult> build_cancellable(const std::vector<Source>& sources,
                                             const PrepareProgress& progress);
  // What the cache has of them, in their order; nothing is compiled. `hit` is false, and there is
  // neither key nor binary, for what it lacks.
  std::vector<BuildResult> find(const std::vector<Source>& sources);

  // The current context's device, or, without one, device `ordinal`. Throws Error(kDriver).
  Target device_target(int ordinal = 0);
  // Whether libcuda is there and has a device; `why_not` says what is missing.
  bool has_device(std::string* why_not = nullptr);

  // What kernels are planned with. A bundle's tables that cannot be used are a warning. Throws
  // Error(kFile, "tuned.unreadable") and what TunedTable::parse throws, as does everything below
  // that plans a kernel; the next call then tries again.
  const TunedTables& tuned_tables();
  // As RuntimeOptions::tuned_tables. Throws Error(kUsage, "tuned.list") and, once a kernel was
  // planned, Error(kUsage, "tuned.in_use").
  void set_tuned_tables(const std::string& list);

  // resolve with tuned_tables(), render, compile or find, load. In the current context; without
  // one, retains the primary context of device 0 and makes it current for the call. What prepare()
  // or request() has made for this device is returned at once. Compiling and loading break no
  // capture, of any thread; a capture does wait for them.
  Kernel kernel(const Spec& spec);
  // The same for use on `stream`, which may be in capture: then only what was prepared is served. A
  // miss is Error(kMissing, "runtime.capturing"), and the capture stays valid: until then the
  // driver has only been asked whether the stream captures and, if another device has the kernel,
  // for the device at hand.
  Kernel kernel(const Spec& spec, Stream stream);
  // Both as the handle of an operation: runtime.kernel<GemmKernel>(spec). Throws Error(kUsage,
  // "kernel.operation"), before anything is planned, for a spec of another operation.
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

  // All kernels of a model, compiled in parallel and loaded, in the order of the specs; kept for as
  // long as the Runtime, so that kernel() neither compiles nor loads any of them later. Context as
  // in kernel(). Throws Error(kUnsupported) or Error(kMissing) with every spec that cannot be
  // served, Error(kCancelled), and what kernel() throws.
  std::vector<Kernel> prepare(const std::vector<Spec>& specs, const PrepareProgress& progress = {});

  // The same, but it returns when launches of these M are served: `urgent` has a range for each
  // spec, or one for all of them. A launch with an M inside its range has its final kernel from
  // then on. Other M are served by what is there already, or by a general kernel that takes any M
  // and is made with the urgent ones where nothing else serves them, until the background has made
  // all kernels of the spec. Launches then change over as KernelRequest::kernel() says, so two runs
  // may round sums differently. kernel(spec, stream) does so, too; kernel(spec) waits for the
  // background. Every kernel of an operation without M is urgent. What the cache has is loaded at
  // once, and in strict mode all of it must be there. The current context must live until nothing
  // more is made. `progress` tells of the kernels that this call waits for, its total is their
  // number, and it cancels them; Preparation::status() counts those that are left to the
  // background, and what fails there is in the log. A runtime that is destroyed compiles nothing
  // more, and what is not ready by then is Error(kCancelled, "runtime.cancelled"). Urgent kernels
  // that another call is making are waited for; if that call fails or is cancelled, this one makes
  // them, and `progress` counts anew. Of a sealed runtime an M inside its range that has no final
  // kernel yet is Error(kMissing, "runtime.sealed"). Throws Error(kUsage, "runtime.urgent") for
  // another number of ranges, for one that is empty, begins below 1 or has no M of its spec, and
  // for one for all that has no M of any.
  Preparation prepare(const std::vector<Spec>& specs, const std::vector<MRange>& urgent,
                      const PrepareProgress& progress = {});

  // Makes the kernel in the background and keeps it as prepare() does. Returns at once, but throws
  // for a spec that this device cannot serve. Until it is ready the request stands in a prepared
  // kernel that differs in nothing but tile and path and a wider range of M, if there is one.
  // Captures by other threads go on undisturbed. The current context must live until it is ready.
  KernelRequest request(const Spec& spec);

  // From here on nothing more is compiled or loaded: kernel(), prepare() and request() serve what
  // was prepared before, or requested and is ready by then; all else is Error(kMissing,
  // "runtime.sealed"), as is every load() and build(). A spec that no device has is refused without
  // a call of the driver. What is being made meanwhile is still made, and served once it is ready.
  void seal();

  // As kernel(), for a plan that was resolved for this device; it is not kept.
  Kernel load(const Plan& plan);

  // Version and build-ids of the NVRTC at hand: what a cache key holds. Throws Error(kDriver).
  std::string compiler_identity();
  // The architectures that the NVRTC at hand compiles for, ascending: 75, 80, ...
  std::vector<int> compiler_archs();

  struct Impl;

 private:
  static void check_operation(Op of_spec, Op of_handle);

  std::unique_ptr<Impl> impl_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_H_
