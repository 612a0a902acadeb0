#include "heddle/inspect/plan.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings.h"
#include "heddle/tuned.h"
#include "plan_argument.h"
#include "record.h"
#include "spec_argument.h"
#include "target_argument.h"

namespace heddle::python {
namespace {

void check_size(const Plan& plan, std::int64_t size) {
  if (size >= plan.kernels.front().size_min && size <= plan.kernels.back().size_max) return;
  throw nb::value_error(("no kernel of the plan serves " + std::to_string(size)).c_str());
}

std::size_t kernel_for(const Plan& plan, std::int64_t size) {
  check_size(plan, size);
  return plan.kernel_for(size);
}

void bind_planned_kernel(nb::module_& m) {
  Record<PlannedKernel>(m, "PlannedKernel", "One compiled kernel of a plan.")
      .field("name", &PlannedKernel::name, "The entry point's name.")
      .field("size_min", &PlannedKernel::size_min,
             "Least size that it serves: M, of decode_attention tokens of a sequence.")
      .field("size_max", &PlannedKernel::size_max, "Most.")
      .field("threads", &PlannedKernel::threads, "Of a thread block.")
      .field("shared_bytes", &PlannedKernel::shared_bytes, "Dynamic shared memory.")
      .field("blocks_per_sm", &PlannedKernel::blocks_per_sm, "What the register budget is set for.")
      .field("phases", &PlannedKernel::phases,
             "Launches of it, one after the other: a moe has several.")
      .field("starts_early", &PlannedKernel::starts_early,
             "Whether it may start before the kernel before it in the stream has ended.")
      .computed(
          "arguments",
          [](const PlannedKernel& self) {
            std::vector<std::string> names;
            for (const KernelArgument argument : self.arguments) {
              names.emplace_back(to_string(argument));
            }
            return names;
          },
          "What the entry point takes, in order.");
}

}  // namespace

Plan plan_argument(nb::handle value, nb::handle target, const TunedTables* tables) {
  if (const Plan* plan = nullptr; nb::try_cast(value, plan) && plan != nullptr) {
    if (!target.is_none()) throw nb::type_error("a plan has its target: give none beside it");
    return *plan;
  }
  const Spec spec = spec_argument(value);
  if (target.is_none()) throw nb::type_error("a spec needs a target, such as \"h200\"");
  const Target of = target_argument(target);
  const nb::gil_scoped_release release;
  return tables == nullptr ? resolve(spec, of) : resolve(spec, of, *tables);
}

void bind_plan(nb::module_& m) {
  bind_planned_kernel(m);
  nb::class_<Plan>(m, "Plan",
                   "Every decision that turns a spec into kernels for a target; resolve() makes "
                   "one. Immutable.")
      .def_ro("spec", &Plan::spec)
      .def_ro("target", &Plan::target)
      .def_ro("kernels", &Plan::kernels, "By ascending, contiguous ranges of sizes.")
      .def_ro("before", &Plan::before,
              "Kernels that run before that of every size: the gather of X with act-order.")
      .def_ro("reasons", &Plan::reasons, "Why each decision was made, for people.")
      .def_prop_ro("decode_plans", &decode_plans_of, "What the kernels decode weights by.")
      .def("kernel_for", &kernel_for, nb::arg("size"),
           "Index of the kernel that serves a size. ValueError where none does.")
      .def(
          "workspace_bytes",
          [](const Plan& self, std::int64_t m) {
            check_size(self, m);
            return self.workspace_bytes(m);
          },
          nb::arg("m"),
          "Bytes of zeroed device memory that a launch with M, or so many tokens, needs.")
      .def_prop_ro("max_workspace_bytes", &Plan::max_workspace_bytes, "The most for any M.")
      .def(
          "describe", [](const Plan& self) { return describe(self); },
          "Every decision in words, for people; not a stable format.")
      .def("to_json", &plan_to_json, "Every decision as JSON; a stable format.")
      .def(
          "to_dict",
          [](const Plan& self) {
            return nb::module_::import_("json").attr("loads")(plan_to_json(self));
          },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "to_json() as a dict.")
      .def(
          "__eq__",
          [](const Plan& self, nb::handle other) {
            const Plan* plan = nullptr;
            return nb::try_cast(other, plan) && plan != nullptr &&
                   plan_to_json(*plan) == plan_to_json(self);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__repr__", [](const Plan& self) {
        return nb::str("Plan(op={!r}, target={!r}, {} kernels)")
            .format(std::string(to_string(self.spec.op())), self.target.name, self.kernel_count());
      });
  m.attr("Plan").attr("__hash__") = nb::none();
  m.def(
      "resolve",
      [](nb::handle spec, nb::handle target, const TunedTables* tables) {
        return plan_argument(spec, target, tables);
      },
      nb::arg("spec"), nb::arg("target"), nb::arg("tables") = nb::none(),
      nb::sig("def resolve(spec: Spec | dict[str, typing.Any] | str, target: Target | str, tables: "
              "TunedTables | None = None) -> Plan"),
      "Plans the kernels of a spec for a target. Pure: no disk, no CUDA. `tables` default to those "
      "that come with Heddle. Raises UnsupportedError with every reason.");
}

}  // namespace heddle::python
