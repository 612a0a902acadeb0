#include "heddle/bundle.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings.h"
#include "callbacks.h"
#include "held_runtime.h"
#include "path_argument.h"
#include "record.h"
#include "spec_argument.h"
#include "target_argument.h"

namespace heddle::python {
namespace {

BundleReport write(HeldRuntime& runtime, nb::handle path, nb::handle specs, nb::handle targets,
                   bool texts, nb::handle progress) {
  if (nb::isinstance<nb::str>(targets)) {
    throw nb::type_error("targets is a list of targets, not one of them");
  }
  std::vector<BundleRequest> requests;
  for (const Spec& spec : spec_arguments(specs)) {
    for (nb::handle target : targets) requests.push_back({spec, target_argument(target)});
  }
  const std::string name = path_argument(path);
  RaisedError raised;
  const PrepareProgress tell = progress_of(progress, &raised);
  return without_gil(
      &raised, [&] { return write_bundle(*runtime.operator->(), name, requests, texts, tell); });
}

}  // namespace

void bind_bundle(nb::module_& m) {
  Record<BundleReport>(m, "BundleReport", "What was written.")
      .field("kernels", &BundleReport::kernels, "How many.")
      .field("bytes", &BundleReport::bytes, "Of the file.")
      .hidden(
          "tables", [](const BundleReport& self) { return self.tables; },
          "Tuned tables that went in.");
  Record<BundledKernel>(m, "BundledKernel", "One kernel of a bundle.")
      .field("kernel_name", &BundledKernel::kernel_name, "The entry point's name.")
      .field("key", &BundledKernel::key, "As BuildResult.key.")
      .field("arch", &BundledKernel::arch, "\"sm_90a\" ...")
      .field("compiler", &BundledKernel::compiler, "NVRTC's version and build-ids.")
      .field("gpus", &BundledKernel::gpus, "That it was planned for.")
      .field("cubin_bytes", &BundledKernel::cubin_bytes, "Of machine code.")
      .field("stored_bytes", &BundledKernel::stored_bytes, "In the file.")
      .field("has_source", &BundledKernel::has_source, "Whether its CUDA text is there.");
  Record<DamagedKernel>(m, "DamagedKernel", "An entry of a bundle that cannot be read.")
      .field("key", &DamagedKernel::key, "As BundledKernel.key.")
      .field("why", &DamagedKernel::why, "What is wrong.");
  Record<BundleContents>(m, "BundleContents", "What is in a bundle.")
      .field("bytes", &BundleContents::bytes, "Of the file.")
      .field("kernels", &BundleContents::kernels, "By name, then key.")
      .field("damaged", &BundleContents::damaged, "Entries that a Runtime does without.")
      .hidden(
          "tables", [](const BundleContents& self) { return self.tables; },
          "The tuned tables that it carries.");
  m.def(
      "write_bundle", &write, nb::arg("runtime"), nb::arg("path"), nb::arg("specs"),
      nb::arg("targets"), nb::arg("texts") = true, nb::arg("progress") = nb::none(),
      nb::sig("def write_bundle(runtime: Runtime, path: str | os.PathLike[str], specs: "
              "collections.abc.Iterable[Spec | dict[str, typing.Any] | str], targets: "
              "collections.abc.Iterable[Target | str], texts: "
              "bool = True, progress: collections.abc.Callable[[BuildResult, int, int], object] | "
              "None = None) "
              "-> BundleReport"),
      "Builds the kernels of every spec for every target and writes them to one file, a name "
      "that ends in \".hdl\", without a GPU. A Runtime takes it in `cache_dir` (\"ro:model.hdl\") "
      "or `read_only_roots`. texts: with CUDA source and PTX. progress as of Runtime.build().");
  m.def(
      "read_bundle", [](nb::handle path) { return read_bundle(path_argument(path)); },
      nb::arg("path"), nb::sig("def read_bundle(path: str | os.PathLike[str]) -> BundleContents"),
      "What is in a bundle. Raises FileError for a file that a Runtime would not use.");
}

}  // namespace heddle::python
