// The element types that arguments must have, and those that arrays say they have.
#ifndef HEDDLE_PYTHON_SRC_ELEMENT_H_
#define HEDDLE_PYTHON_SRC_ELEMENT_H_

#include <nanobind/ndarray.h>

#include <string>

#include "heddle/spec.h"

namespace heddle::python {

namespace nb = nanobind;

using DtypeCode = nb::dlpack::dtype_code;

// kByte: uint8 or int8. kAny: memory whose type means nothing, such as a workspace.
enum class Element { kFp16, kBf16, kFp32, kE8m0, kE4m3, kE5m2, kInt32, kByte, kAny };

Element element_of(DType dtype);
// Whether an array of this type is taken. Types that not every library has are taken as their bits,
// too: bfloat16 as uint16, 8-bit floats as uint8.
bool is_element(Element wanted, nb::dlpack::dtype given);
// What is_element() takes, in words: "bfloat16, or its bits as uint16".
const char* allowed_text(Element wanted);
// "float16", "int32", "bfloat16" ...
std::string name_of(nb::dlpack::dtype dtype);
// The type that a __cuda_array_interface__ calls "<f2". Throws Error(kUsage, "launch.dtype") that
// names the argument.
nb::dlpack::dtype dtype_of_typestr(const std::string& typestr, const char* argument);

inline std::int64_t bytes_of(nb::dlpack::dtype dtype) { return dtype.bits * dtype.lanes / 8; }

}  // namespace heddle::python

#endif  // HEDDLE_PYTHON_SRC_ELEMENT_H_
