#include "record.h"

namespace heddle::python {

nb::str record_repr(nb::handle self) {
  nb::object type = self.type().attr("__name__");
  nb::list parts;
  for (nb::handle name : self.type().attr("__match_args__")) {
    parts.append(nb::str("{}={!r}").format(name, self.attr(name)));
  }
  return nb::str("{}({})").format(type, nb::str(", ").attr("join")(parts));
}

bool record_equal(nb::handle self, nb::handle other) {
  if (!self.type().is(other.type())) return false;
  for (nb::handle name : self.type().attr("__match_args__")) {
    if (!self.attr(name).equal(other.attr(name))) return false;
  }
  return true;
}

Py_hash_t record_hash(nb::handle self) {
  nb::list values;
  for (nb::handle name : self.type().attr("__match_args__")) values.append(self.attr(name));
  return nb::hash(nb::tuple(values));
}

void finish_record(nb::handle type, const nb::list& fields) {
  type.attr("__match_args__") = nb::tuple(fields);
  type.attr("__repr__") = nb::cpp_function([](nb::handle self) { return record_repr(self); },
                                           nb::is_method(), nb::name("__repr__"), nb::scope(type));
  type.attr("__eq__") = nb::cpp_function(
      [](nb::handle self, nb::handle other) { return record_equal(self, other); }, nb::is_method(),
      nb::name("__eq__"), nb::scope(type), nb::arg("other").none());
  type.attr("__hash__") = nb::cpp_function([](nb::handle self) { return record_hash(self); },
                                           nb::is_method(), nb::name("__hash__"), nb::scope(type));
}

}  // namespace heddle::python
