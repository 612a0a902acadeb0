#include "heddle/spec.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>

#include "bindings.h"
#include "json_argument.h"
#include "spec_argument.h"

namespace heddle::python {
namespace {

nb::object json_module() { return nb::module_::import_("json"); }

void check_has(bool has, const Spec& spec, const char* what) {
  if (has) return;
  throw nb::attribute_error(
      (std::string(what) + ": no part of the operation " + std::string(to_string(spec.op())))
          .c_str());
}

std::tuple<std::int64_t, std::int64_t> weight_shape(const Spec& spec) {
  check_has(spec.has_weight(), spec, "weight_shape");
  return {spec.weight_shape().n, spec.weight_shape().k};
}

std::tuple<std::int64_t, std::int64_t> m_range(const Spec& spec) {
  check_has(spec.has_m(), spec, "m_range");
  return {spec.m_range().min, spec.m_range().max};
}

nb::object to_dict(const Spec& spec) {
  nb::object dict = json_module().attr("loads")(spec.canonical_json());
  if (!spec.name().empty()) dict["name"] = spec.name();
  return dict;
}

}  // namespace

Spec spec_argument(nb::handle value) {
  if (const Spec* spec = nullptr; nb::try_cast(value, spec) && spec != nullptr) return *spec;
  if (nb::isinstance<nb::str>(value)) return Spec::parse(nb::cast<std::string>(value));
  if (nb::isinstance<nb::dict>(value)) {
    return Spec::parse(json_text(value));
  }
  throw nb::type_error("a spec is a heddle.Spec, a dict, or a str of JSON");
}

std::vector<Spec> spec_arguments(nb::handle values) {
  if (nb::isinstance<nb::dict>(values) || nb::isinstance<nb::str>(values)) {
    throw nb::type_error("specs is a list of specs, not one of them");
  }
  std::vector<Spec> specs;
  for (nb::handle value : values) specs.push_back(spec_argument(value));
  return specs;
}

void bind_spec(nb::module_& m) {
  nb::class_<Spec>(m, "Spec",
                   "What a kernel must do: validated, canonical, immutable. docs/spec.md of Heddle "
                   "describes every field.\n\nSpecs that mean the same are equal, whatever their "
                   "names are.")
      .def(
          "__init__", [](Spec* self, nb::handle spec) { new (self) Spec(spec_argument(spec)); },
          nb::arg("spec"),
          nb::sig("def __init__(self, spec: Spec | dict[str, typing.Any] | str) -> None"),
          "From a dict, a str of JSON, or another spec. Raises SpecError with every problem.")
      .def_prop_ro(
          "op", [](const Spec& self) { return std::string(to_string(self.op())); },
          "\"gemm\", \"dequantize\", \"repack\", \"quantize_weight\", \"kv_append\", "
          "\"decode_attention\", \"row_transform\" or \"moe\".")
      .def_prop_ro(
          "name", [](const Spec& self) { return self.name(); },
          "The optional label: no part of what is generated.")
      .def_prop_ro("weight_shape", &weight_shape,
                   "(N, K) of W. AttributeError for an operation without weights.")
      .def_prop_ro(
          "m_range", &m_range,
          "(least, most) rows or tokens of a launch. AttributeError for an operation without M.")
      .def("canonical_json", &Spec::canonical_json,
           "One line of JSON with every default written out and without the name.")
      .def("to_dict", &to_dict, nb::sig("def to_dict(self) -> dict[str, typing.Any]"),
           "The canonical form as a dict, with the name.")
      .def(
          "__eq__",
          [](const Spec& self, nb::handle other) {
            const Spec* spec = nullptr;
            return nb::try_cast(other, spec) && spec != nullptr &&
                   spec->canonical_json() == self.canonical_json();
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__",
           [](const Spec& self) { return nb::hash(nb::str(self.canonical_json().c_str())); })
      .def("__repr__", [](const Spec& self) { return nb::str("Spec({!r})").format(to_dict(self)); })
      .def("__getstate__",
           [](const Spec& self) { return std::tuple(self.canonical_json(), self.name()); })
      .def("__setstate__", [](Spec* self, const std::tuple<std::string, std::string>& state) {
        nb::object dict = json_module().attr("loads")(std::get<0>(state));
        if (!std::get<1>(state).empty()) dict["name"] = std::get<1>(state);
        new (self) Spec(spec_argument(dict));
      });
  m.def(
      "spec_schema", [] { return json_module().attr("loads")(spec_schema()); },
      nb::sig("def spec_schema() -> dict[str, typing.Any]"),
      "The JSON Schema (draft 2020-12) of a spec.");
}

}  // namespace heddle::python
