// Record: a C++ struct as a Python class of read-only fields.
#ifndef HEDDLE_PYTHON_SRC_RECORD_H_
#define HEDDLE_PYTHON_SRC_RECORD_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

namespace heddle::python {

namespace nb = nanobind;

// "Name(field=value, ...)" of the fields that the class names in __match_args__.
nb::str record_repr(nb::handle self);
// Whether both are of one class and all fields are equal.
bool record_equal(nb::handle self, nb::handle other);
// The hash of all fields; TypeError where one is a list.
Py_hash_t record_hash(nb::handle self);
// Gives the class __repr__, __eq__, __hash__ and __match_args__, as a frozen dataclass has them.
void finish_record(nb::handle type, const nb::list& fields);

template <class T>
class Record {
 public:
  Record(nb::module_& m, const char* name, const char* doc) : type_(m, name, doc) {}
  ~Record() { finish_record(type_, fields_); }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  // A member of the struct.
  template <class Member>
  Record& field(const char* name, Member T::*member, const char* doc) {
    fields_.append(name);
    type_.def_ro(name, member, doc);
    return *this;
  }
  // What a function makes of the struct.
  template <class Function>
  Record& computed(const char* name, Function&& function, const char* doc) {
    fields_.append(name);
    return hidden(name, std::forward<Function>(function), doc);
  }
  // A property that the repr leaves out, because it is long or costs time.
  template <class Function>
  Record& hidden(const char* name, Function&& function, const char* doc) {
    type_.def_prop_ro(name, std::forward<Function>(function), doc);
    return *this;
  }
  // The word that to_string() has for an enum.
  template <class Member>
  Record& word(const char* name, Member T::*member, const char* doc) {
    return computed(
        name, [member](const T& self) { return std::string(to_string(self.*member)); }, doc);
  }

  nb::class_<T>& type() { return type_; }

 private:
  nb::class_<T> type_;
  nb::list fields_;
};

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_RECORD_H_
