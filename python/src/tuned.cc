#include "heddle/tuned.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings.h"
#include "record.h"
#include "target_argument.h"

namespace heddle::python {
namespace {

void bind_table(nb::module_& m) {
  nb::class_<TunedTable>(m, "TunedTable",
                         "Which kernels were measured to be the fastest on one GPU, and what the "
                         "predicted times of all others are made of. Immutable but for merge().")
      .def(
          "__init__",
          [](TunedTable* self, std::string_view json) {
            new (self) TunedTable(TunedTable::parse(json));
          },
          nb::arg("json"),
          "From the text of a table (docs/planner.md). Raises SpecError with every problem.")
      .def_prop_ro("gpu", &TunedTable::gpu, "As Target.tuned_gpu.")
      .def_prop_ro("entries", &TunedTable::entries, nb::rv_policy::copy,
                   "Ascending by format, N, K and M.")
      .def_prop_ro("costs", &TunedTable::costs, nb::rv_policy::copy, "Ascending by family.")
      .def("merge", &TunedTable::merge, nb::arg("later"),
           "Adds the entries of `later`, which replace what this table says of the same M. Raises "
           "UsageError for a table of another GPU.")
      .def("to_json", &TunedTable::to_json, "The text that TunedTable(text) reads.")
      .def(
          "__eq__",
          [](const TunedTable& self, nb::handle other) {
            const TunedTable* table = nullptr;
            return nb::try_cast(other, table) && table != nullptr &&
                   table->to_json() == self.to_json();
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__repr__", [](const TunedTable& self) {
        return nb::str("TunedTable(gpu={!r}, {} entries, costs of {} families)")
            .format(self.gpu(), self.entries().size(), self.costs().size());
      });
  m.attr("TunedTable").attr("__hash__") = nb::none();
}

}  // namespace

void bind_tuned(nb::module_& m) {
  Record<TunedEntry>(m, "TunedEntry",
                     "The fastest kernel of Y[M, N] = X[M, K] * W[N, K]^T for a range of M.")
      .field("n", &TunedEntry::n, "Rows of W.")
      .field("k", &TunedEntry::k, "Columns of W.")
      .field("m_first", &TunedEntry::m_first, "Least M.")
      .field("m_last", &TunedEntry::m_last, "Most M.")
      .word("activation", &TunedEntry::activation, "Type of X.")
      .computed(
          "granularity",
          [](const TunedEntry& entry) {
            return std::string(to_string(entry.activation_scale.granularity));
          },
          "What has a scale of X: \"none\" of 16 bits, \"tensor\", \"token\" or \"group\".")
      .word("accumulation", &TunedEntry::accumulation,
            "How sums of FP8 products are added: \"promoted\" or \"fast\".")
      .field("family", &TunedEntry::family, "\"stream\" ...")
      .field("family_version", &TunedEntry::family_version, "Of that family's kernels.")
      .field("kernel", &TunedEntry::kernel, "The kernel's label.")
      .field("us", &TunedEntry::us, "Microseconds of a launch with m_last tokens; 0: not told.")
      .field("source", &TunedEntry::from, "Where and when it was measured; may be empty.");
  Record<TunedCosts>(m, "TunedCosts", "The cost parameters of a family of kernels.")
      .field("family", &TunedCosts::family, "\"stream\" ...")
      .field("version", &TunedCosts::version, "Of that family's parameters.")
      .field("values", &TunedCosts::values, "Of all parameters, by name.")
      .field("source", &TunedCosts::from, "Where and when it was measured; may be empty.");
  bind_table(m);
  nb::class_<TunedTables>(m, "TunedTables", "Tuned tables, at most one for each GPU.")
      .def(
          "__init__",
          [](TunedTables* self, const std::vector<TunedTable>& tables) {
            new (self) TunedTables();
            for (const TunedTable& table : tables) self->add(table);
          },
          nb::arg("tables") = nb::list(),
          "Tables of one GPU are merged, later ones over earlier ones. None: every kernel is "
          "chosen by its predicted time.")
      .def_static("shipped", &TunedTables::shipped, nb::rv_policy::copy,
                  "Those that come with this version of Heddle.")
      .def("add", &TunedTables::add, nb::arg("table"),
           "Merges it over the table of the same GPU, if there is one.")
      .def(
          "of",
          [](const TunedTables& self, nb::handle target) -> nb::object {
            const TunedTable* table = self.of(target_argument(target));
            return table == nullptr ? nb::none() : nb::cast(*table, nb::rv_policy::copy);
          },
          nb::arg("target"), nb::sig("def of(self, target: Target | str) -> TunedTable | None"),
          "The table of the target's GPU.")
      .def_prop_ro("tables", &TunedTables::tables, nb::rv_policy::copy, "Ascending by GPU.")
      .def("__repr__", [](const TunedTables& self) {
        return nb::str("TunedTables({!r})").format(nb::cast(self.tables(), nb::rv_policy::copy));
      });
}

}  // namespace heddle::python
