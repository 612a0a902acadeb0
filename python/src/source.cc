#include "heddle/inspect/source.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>

#include "bindings.h"
#include "heddle/inspect/binary.h"
#include "heddle/runtime.h"
#include "plan_argument.h"
#include "record.h"

namespace heddle::python {
namespace {

nb::bytes cubin_of(const Binary& binary) {
  return nb::bytes(binary.cubin.data(), binary.cubin.size());
}

void bind_binary(nb::module_& m) {
  Record<Binary>(m, "Binary", "What the compiler made of a source.")
      .field("kernel_name", &Binary::kernel_name, "The entry point's name.")
      .field("arch", &Binary::arch, "\"sm_90a\" ...")
      .field("compiler", &Binary::compiler, "NVRTC's version and build-ids.")
      .field("registers", &Binary::registers, "Per thread.")
      .field("spill_bytes", &Binary::spill_bytes, "Registers in local memory, per thread.")
      .field("local_bytes", &Binary::local_bytes, "Stack frame, per thread.")
      .field("static_shared_bytes", &Binary::static_shared_bytes, "Per block.")
      .field("dynamic_shared_bytes", &Binary::dynamic_shared_bytes, "Per block.")
      .field("threads", &Binary::threads, "Per block.")
      .field("compile_ms", &Binary::compile_ms, "Milliseconds, also of a cache hit.")
      .hidden("cubin", &cubin_of, "The machine code, an ELF file.")
      .hidden(
          "ptx", [](const Binary& self) { return self.ptx.str(); },
          "The PTX; empty in a bundle without texts.");
  Record<BuildResult>(m, "BuildResult", "One source on its way through cache and compiler.")
      .field("kernel_name", &BuildResult::kernel_name, "The entry point's name.")
      .field("key", &BuildResult::key, "Hex digest of source, target and compiler.")
      .field("hit", &BuildResult::hit, "Whether the cache had it.")
      .field("stored", &BuildResult::stored, "Whether the next process will find it.")
      .field("ms", &BuildResult::ms, "Milliseconds that this call took for the kernel.")
      .hidden(
          "binary",
          [](const BuildResult& self) { return std::const_pointer_cast<Binary>(self.binary); },
          "The compiled kernel; None of Runtime.find() for what the cache lacks.");
}

}  // namespace

void bind_source(nb::module_& m) {
  Record<Source>(m, "Source", "One readable CUDA translation unit.")
      .field("kernel_name", &Source::kernel_name, "The extern \"C\" entry point.")
      .field("file_name", &Source::file_name, "Names the content.")
      .field("arch", &Source::arch, "For NVRTC: \"sm_80\", \"sm_90a\".")
      .field("threads", &Source::threads, "Per block.")
      .field("dynamic_shared_bytes", &Source::dynamic_shared_bytes, "Per block.")
      .hidden(
          "text", [](const Source& self) { return self.text; },
          "The CUDA that the compiler gets; it includes nothing.");
  bind_binary(m);
  m.def(
      "render",
      [](nb::handle spec, nb::handle target, const TunedTables* tables) {
        const Plan plan = plan_argument(spec, target, tables);
        const nb::gil_scoped_release release;
        return render_all(plan);
      },
      nb::arg("spec"), nb::arg("target") = nb::none(), nb::arg("tables") = nb::none(),
      nb::sig("def render(spec: Plan | Spec | dict[str, typing.Any] | str, target: Target | str | "
              "None = "
              "None, tables: TunedTables | None = None) -> list[Source]"),
      "The CUDA of every kernel of a plan, or of a spec for a target, in the order of "
      "Plan.kernels, then Plan.before. Pure: no disk, no CUDA.");
}

}  // namespace heddle::python
