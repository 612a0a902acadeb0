#include "heddle/runtime.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "callbacks.h"
#include "heddle/inspect/source.h"
#include "held_runtime.h"
#include "kernels.h"
#include "path_argument.h"
#include "record.h"
#include "spec_argument.h"

namespace heddle::python {
namespace {

using Range = std::tuple<std::int64_t, std::int64_t>;

std::string optional_path(nb::handle path) {
  return path.is_none() ? std::string() : path_argument(path);
}

nb::list kernel_objects(const std::vector<Kernel>& kernels) {
  nb::list objects;
  for (const Kernel& kernel : kernels) objects.append(kernel_object(kernel));
  return objects;
}

// One pair for all specs, or a pair for each.
std::vector<MRange> ranges_argument(nb::handle urgent) {
  std::vector<Range> pairs;
  if (Range pair; nb::isinstance<nb::tuple>(urgent) && nb::try_cast(urgent, pair)) {
    pairs.push_back(pair);
  } else {
    if (!nb::try_cast(urgent, pairs)) {
      throw nb::type_error(
          "urgent is a pair of numbers of tokens, (least, most), or a list of such pairs, one for "
          "each spec");
    }
  }
  std::vector<MRange> ranges;
  ranges.reserve(pairs.size());
  for (const auto& [least, most] : pairs) ranges.push_back({least, most});
  return ranges;
}

void make_runtime(HeldRuntime* self, nb::handle cache_dir, nb::handle read_only_roots,
                  bool disk_cache, std::int64_t cache_max_bytes, bool strict,
                  nb::handle record_file, const std::string& tuned_tables, nb::handle nvrtc_dir,
                  int jobs, nb::handle log) {
  RuntimeOptions options;
  options.cache_dir = optional_path(cache_dir);
  if (nb::isinstance<nb::str>(read_only_roots)) {
    throw nb::type_error("read_only_roots is a list of paths, not one of them");
  }
  for (nb::handle root : read_only_roots) options.read_only_roots.push_back(path_argument(root));
  options.disk_cache = disk_cache;
  options.cache_max_bytes = cache_max_bytes;
  options.strict = strict;
  options.record_file = optional_path(record_file);
  options.tuned_tables = tuned_tables;
  options.nvrtc_dir =
      optional_path(nvrtc_dir.is_none() ? nb::module_::import_("heddle._nvrtc").attr("folder")()
                                        : nb::borrow(nvrtc_dir));
  options.jobs = jobs;
  options.log = log_of(nb::borrow(log));
  new (self) HeldRuntime(std::move(options));
}

std::vector<BuildResult> build(HeldRuntime& self, const std::vector<Source>& sources,
                               nb::handle progress) {
  RaisedError raised;
  const PrepareProgress tell = progress_of(progress, &raised);
  return without_gil(&raised, [&] { return self->build_cancellable(sources, tell); });
}

nb::object kernel(HeldRuntime& self, nb::handle spec_value, nb::handle stream) {
  const Spec spec = spec_argument(spec_value);
  if (stream.is_none()) {
    return kernel_object([&] {
      const nb::gil_scoped_release release;
      return self->kernel(spec);
    }());
  }
  const Stream on = stream_argument(stream, kAnyDevice);
  return kernel_object([&] {
    const nb::gil_scoped_release release;
    return self->kernel(spec, on);
  }());
}

nb::list prepare(HeldRuntime& self, nb::handle spec_values, nb::handle progress) {
  const std::vector<Spec> specs = spec_arguments(spec_values);
  RaisedError raised;
  const PrepareProgress tell = progress_of(progress, &raised);
  return kernel_objects(without_gil(&raised, [&] { return self->prepare(specs, tell); }));
}

Preparation prepare_urgent(HeldRuntime& self, nb::handle spec_values, nb::handle urgent,
                           nb::handle progress) {
  const std::vector<Spec> specs = spec_arguments(spec_values);
  const std::vector<MRange> ranges = ranges_argument(urgent);
  RaisedError raised;
  const PrepareProgress tell = progress_of(progress, &raised);
  return without_gil(&raised, [&] { return self->prepare(specs, ranges, tell); });
}

void bind_requests(nb::module_& m) {
  nb::class_<KernelRequest>(m, "KernelRequest", "A kernel that is made in the background.")
      .def("ready", &KernelRequest::ready, nb::call_guard<nb::gil_scoped_release>(),
           "Whether making it has ended, well or not.")
      .def(
          "wait",
          [](const KernelRequest& self) {
            return kernel_object([&] {
              const nb::gil_scoped_release release;
              return self.wait();
            }());
          },
          nb::sig("def wait(self) -> heddle.Kernel"), "Waits for it. Raises what making it raised.")
      .def(
          "kernel",
          [](const KernelRequest& self, nb::handle stream) {
            const Stream on = stream_argument(stream, kAnyDevice);
            return kernel_object([&] {
              const nb::gil_scoped_release release;
              return self.kernel(on);
            }());
          },
          nb::arg("stream") = nb::none(),
          nb::sig("def kernel(self, stream: object = None) -> heddle.Kernel"),
          "What to launch on `stream` now, without waiting: the kernel itself once it is ready, "
          "until then a general one. Ask before every launch. Raises MissingError while there is "
          "neither.");
  Record<PreparationStatus>(m, "PreparationStatus", "How far a preparation is.")
      .field("done", &PreparationStatus::done, "Kernels that the background has compiled.")
      .field("total", &PreparationStatus::total, "That are left to it.")
      .field("ended", &PreparationStatus::ended, "Well or not: nothing more is made.");
  nb::class_<Preparation>(m, "Preparation", "What prepare() with urgent ranges has begun.")
      .def_prop_ro("requests", &Preparation::requests, nb::rv_policy::copy,
                   "One for each spec, in their order.")
      .def("status",
           [](const Preparation& self) {
             const nb::gil_scoped_release release;
             return self.status();
           })
      .def("wait", &Preparation::wait, nb::call_guard<nb::gil_scoped_release>(),
           "Waits until nothing more is made. Raises what the first kernel that failed raised.")
      .def("cancel", &Preparation::cancel, nb::call_guard<nb::gil_scoped_release>(),
           "Compiles no more than what is being compiled.");
}

void bind_building(nb::class_<HeldRuntime>& type) {
  type.def("build", &build, nb::arg("sources"), nb::arg("progress") = nb::none(),
           nb::sig("def build(self, sources: collections.abc.Sequence[Source], progress: "
                   "collections.abc.Callable[[BuildResult, "
                   "int, int], object] | None = None) -> list[BuildResult]"),
           "Compiles what the cache lacks, in parallel, without a GPU. progress(result, done, "
           "total) is called after each; if it returns False, CancelledError is raised.")
      .def(
          "find",
          [](HeldRuntime& self, const std::vector<Source>& sources) { return self->find(sources); },
          nb::arg("sources"), nb::call_guard<nb::gil_scoped_release>(),
          "What the cache has of them, in their order; nothing is compiled.")
      .def(
          "tuned_tables",
          [](HeldRuntime& self) {
            const nb::gil_scoped_release release;
            return self->tuned_tables();
          },
          "What kernels are planned with.")
      .def(
          "set_tuned_tables",
          [](HeldRuntime& self, const std::string& list) { self->set_tuned_tables(list); },
          nb::arg("list"), nb::call_guard<nb::gil_scoped_release>(),
          "As the argument `tuned_tables`, until a kernel was planned.")
      .def(
          "compiler_identity", [](HeldRuntime& self) { return self->compiler_identity(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "Version and build-ids of NVRTC. Raises DriverError where there is none.")
      .def(
          "compiler_archs", [](HeldRuntime& self) { return self->compiler_archs(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "The architectures that NVRTC compiles for, ascending: 75, 80, ...")
      .def(
          "device_target",
          [](HeldRuntime& self, int ordinal) { return self->device_target(ordinal); },
          nb::arg("ordinal") = 0, nb::call_guard<nb::gil_scoped_release>(),
          "The current context's device, or, without one, device `ordinal`. Raises DriverError.")
      .def(
          "has_device", [](HeldRuntime& self) { return self->has_device(); },
          nb::call_guard<nb::gil_scoped_release>(), "Whether libcuda is there and has a device.");
}

void bind_loading(nb::class_<HeldRuntime>& type) {
  type.def(
          "kernel", &kernel, nb::arg("spec"), nb::arg("stream") = nb::none(),
          nb::sig("def kernel(self, spec: Spec | dict[str, typing.Any] | str, stream: object = "
                  "None) -> "
                  "heddle.Kernel"),
          "The kernel of a spec for the current context's device (without one, device 0): found "
          "or compiled, and loaded. With `stream`, which may be in capture, only what was prepared "
          "is served while it captures. Keep the kernel.")
      .def("prepare", &prepare, nb::arg("specs"), nb::kw_only(), nb::arg("progress") = nb::none(),
           nb::sig("def prepare(self, specs: collections.abc.Iterable[Spec | dict[str, typing.Any] "
                   "| str], *, progress: "
                   "collections.abc.Callable[[BuildResult, int, int], object] | None = None) -> "
                   "list[heddle.Kernel]"),
           "All kernels of a model, compiled in parallel, loaded and kept, in the order of the "
           "specs. progress(result, done, total) is called after each, from any thread; if it "
           "returns False, CancelledError is raised.")
      .def("prepare", &prepare_urgent, nb::arg("specs"), nb::kw_only(), nb::arg("urgent"),
           nb::arg("progress") = nb::none(),
           nb::sig("def prepare(self, specs: collections.abc.Iterable[Spec | dict[str, typing.Any] "
                   "| str], *, urgent: "
                   "tuple[int, int] | collections.abc.Sequence[tuple[int, int]], progress: "
                   "collections.abc.Callable[[BuildResult, int, int], object] | None = None) -> "
                   "Preparation"),
           "The same, but it returns when launches with an M inside `urgent` are served, a range "
           "for all specs or one for each; the background makes the rest. progress tells of the "
           "kernels that are waited for, Preparation.status() of the rest.")
      .def(
          "request",
          [](HeldRuntime& self, nb::handle spec_value) {
            const Spec spec = spec_argument(spec_value);
            const nb::gil_scoped_release release;
            return self->request(spec);
          },
          nb::arg("spec"),
          nb::sig("def request(self, spec: Spec | dict[str, typing.Any] | str) -> KernelRequest"),
          "Makes the kernel in the background. The current context must live until it is ready.")
      .def(
          "seal", [](HeldRuntime& self) { self->seal(); }, nb::call_guard<nb::gil_scoped_release>(),
          "From here on nothing is compiled or loaded: what was not prepared is MissingError.")
      .def(
          "load",
          [](HeldRuntime& self, const Plan& plan) {
            return kernel_object([&] {
              const nb::gil_scoped_release release;
              return self->load(plan);
            }());
          },
          nb::arg("plan"), nb::sig("def load(self, plan: Plan) -> heddle.Kernel"),
          "As kernel(), for a plan that was resolved for this device; it is not kept.");
}

}  // namespace

void bind_runtime(nb::module_& m) {
  bind_requests(m);
  nb::class_<HeldRuntime> type(
      m, "Runtime",
      "Compiles, caches and loads kernels. Any thread may use it. Making one loads nothing: "
      "libnvrtc is opened on the first cache miss, libcuda when a device is needed.");
  type.def("__init__", &make_runtime, nb::kw_only(), nb::arg("cache_dir") = nb::none(),
           nb::arg("read_only_roots") = nb::list(), nb::arg("disk_cache") = true,
           nb::arg("cache_max_bytes") = RuntimeOptions().cache_max_bytes, nb::arg("strict") = false,
           nb::arg("record_file") = nb::none(), nb::arg("tuned_tables") = "",
           nb::arg("nvrtc_dir") = nb::none(), nb::arg("jobs") = 0, nb::arg("log") = nb::none(),
           nb::sig("def __init__(self, *, cache_dir: str | os.PathLike[str] | None = None, "
                   "read_only_roots: collections.abc.Sequence[str | os.PathLike[str]] = [], "
                   "disk_cache: bool = "
                   "True, cache_max_bytes: int = 1073741824, strict: bool = False, record_file: "
                   "str | os.PathLike[str] | None = None, tuned_tables: str = '', nvrtc_dir: str | "
                   "os.PathLike[str] | None = None, jobs: int = 0, log: "
                   "collections.abc.Callable[[str, str], "
                   "object] | None = None) -> None"),
           "cache_dir: a folder, or layers: \"rw:/folder:ro:/image/layer:ro:/image/model.hdl\"; "
           "None: $HEDDLE_CACHE, else ~/.cache/heddle. read_only_roots: more layers. strict: "
           "compile nothing. record_file: notes every spec that is asked for. tuned_tables: files, "
           "separated by colons. nvrtc_dir: where libnvrtc is looked for last; None: the wheel "
           "nvidia-cuda-nvrtc, if it is installed. jobs: compilations at a time; 0: one per core, "
           "8 at most. log(level, text) is called from any thread with \"debug\", \"info\", "
           "\"warning\" or \"error\".");
  bind_building(type);
  bind_loading(type);
}

}  // namespace heddle::python
