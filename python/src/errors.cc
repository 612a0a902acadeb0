#include "errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <typeinfo>
#include <utility>

#include "bindings.h"
#include "heddle/error.h"

namespace heddle::python {
namespace {

// The names of the classes in heddle/_errors.py.
const char* class_of(ErrorCategory category) {
  switch (category) {
    case ErrorCategory::kSpec:
      return "SpecError";
    case ErrorCategory::kUnsupported:
      return "UnsupportedError";
    case ErrorCategory::kUsage:
      return "UsageError";
    case ErrorCategory::kFile:
      return "FileError";
    case ErrorCategory::kCompile:
      return "CompileError";
    case ErrorCategory::kDriver:
      return "DriverError";
    case ErrorCategory::kCancelled:
      return "CancelledError";
    case ErrorCategory::kMissing:
      return "MissingError";
    case ErrorCategory::kInternal:
      break;
  }
  return "InternalError";
}

// A message may quote bytes of a file or a spec that are no UTF-8.
nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                        "backslashreplace"));
}

void raise(const Error& error) {
  const nb::module_ classes = nb::module_::import_("heddle._errors");
  nb::list problems;
  for (const Problem& problem : error.problems()) {
    problems.append(classes.attr("Problem")(text(problem.pointer), text(problem.message),
                                            text(problem.value), text(problem.allowed),
                                            text(problem.hint)));
  }
  const nb::object type = classes.attr(class_of(error.category()));
  const nb::object value =
      type(text(error.what()), text(error.code()), nb::tuple(problems), text(error.log()));
  PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace

void refuse(const char* code, std::string message, std::string value, std::string allowed) {
  throw Error(ErrorCategory::kUsage, code,
              {{"", std::move(message), std::move(value), std::move(allowed), ""}});
}

void set_exception() {
  try {
    throw;
  } catch (const Error& error) {
    try {
      raise(error);
    } catch (nb::python_error& failed) {
      failed.restore();
    }
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "a value has not the type that is wanted here");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error&) {
      set_exception();
    } catch (const nb::cast_error&) {
      set_exception();
    }
  });
}

}  // namespace heddle::python
