#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings.h"
#include "heddle/inspect/decode_plan.h"
#include "record.h"

namespace heddle::python {

void bind_decode(nb::module_& m) {
  Record<DecodeProof>(m, "DecodeProof", "The outcome of checking a decode plan.")
      .field("codes_checked", &DecodeProof::codes_checked, "Codes that were decoded.")
      .field("mismatches", &DecodeProof::mismatches, "Those that differ; 0: the plan is exact.")
      .field("first_mismatch", &DecodeProof::first_mismatch, "In words; may be empty.")
      .hidden(
          "exact", [](const DecodeProof& self) { return self.mismatches == 0; },
          "Whether nothing differs.");
  nb::class_<SharedDecodePlan>(
      m, "DecodePlan",
      "How 32-bit words of packed weights become pairs of 16-bit floats: the "
      "operations, and the place of each bit.")
      .def_prop_ro("instructions_per_weight", &SharedDecodePlan::instructions_per_weight,
                   "Operations for each weight.")
      .def_prop_ro("words", &SharedDecodePlan::words, "32-bit words of a unit.")
      .def_prop_ro("elements", &SharedDecodePlan::elements, "Weights of a unit.")
      .def_prop_ro(
          "field_of", &SharedDecodePlan::field_of,
          "Element e has the bits [bits * field_of[e], bits * (field_of[e] + 1)) of a unit. "
          "Empty where an element is scattered.")
      .def(
          "prove",
          [](const SharedDecodePlan& self) {
            const nb::gil_scoped_release release;
            return prove_decode_plan(self);
          },
          "Executes the plan for every code in every position and compares with exact arithmetic.")
      .def(
          "describe", [](const SharedDecodePlan& self) { return describe(self); },
          "One line for each operation, for people; not a stable format.")
      .def(
          "to_json", [](const SharedDecodePlan& self) { return decode_plan_to_json(self); },
          "A stable format.")
      .def("__repr__", [](const SharedDecodePlan& self) {
        return nb::str("DecodePlan(words={}, elements={}, instructions_per_weight={})")
            .format(self.words(), self.elements(), self.instructions_per_weight());
      });
}

}  // namespace heddle::python
