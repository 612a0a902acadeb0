#include "element.h"

#include "errors.h"

namespace heddle::python {
namespace {

bool is(nb::dlpack::dtype dtype, DtypeCode code, int bits) {
  return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits && dtype.lanes == 1;
}

}  // namespace

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return Element::kFp16;
    case DType::kBf16:
      return Element::kBf16;
    case DType::kFp32:
      return Element::kFp32;
    case DType::kE8m0:
      return Element::kE8m0;
    case DType::kInt8:
      return Element::kByte;
    case DType::kFp8E5m2:
      return Element::kE5m2;
    case DType::kE4m3:
    case DType::kFp8E4m3:
      break;
  }
  return Element::kE4m3;
}

bool is_element(Element wanted, nb::dlpack::dtype given) {
  switch (wanted) {
    case Element::kFp16:
      return is(given, DtypeCode::Float, 16);
    case Element::kBf16:
      return is(given, DtypeCode::Bfloat, 16) || is(given, DtypeCode::UInt, 16);
    case Element::kFp32:
      return is(given, DtypeCode::Float, 32);
    case Element::kE8m0:
      return is(given, DtypeCode::Float8_E8M0FNU, 8) || is(given, DtypeCode::UInt, 8);
    case Element::kE4m3:
      return is(given, DtypeCode::Float8_E4M3FN, 8) || is(given, DtypeCode::UInt, 8);
    case Element::kE5m2:
      return is(given, DtypeCode::Float8_E5M2, 8) || is(given, DtypeCode::UInt, 8);
    case Element::kInt32:
      return is(given, DtypeCode::Int, 32);
    case Element::kByte:
      return is(given, DtypeCode::UInt, 8) || is(given, DtypeCode::Int, 8);
    case Element::kAny:
      break;
  }
  return true;
}

const char* allowed_text(Element wanted) {
  switch (wanted) {
    case Element::kFp16:
      return "float16";
    case Element::kBf16:
      return "bfloat16, or its bits as uint16";
    case Element::kFp32:
      return "float32";
    case Element::kE8m0:
      return "float8_e8m0fnu, or its bits as uint8";
    case Element::kE4m3:
      return "float8_e4m3fn, or its bits as uint8";
    case Element::kE5m2:
      return "float8_e5m2, or its bits as uint8";
    case Element::kInt32:
      return "int32";
    case Element::kByte:
      return "uint8 or int8";
    case Element::kAny:
      break;
  }
  return "any";
}

std::string name_of(nb::dlpack::dtype dtype) {
  const auto bits = std::to_string(static_cast<int>(dtype.bits) * dtype.lanes);
  switch (static_cast<DtypeCode>(dtype.code)) {
    case DtypeCode::Int:
      return "int" + bits;
    case DtypeCode::UInt:
      return "uint" + bits;
    case DtypeCode::Float:
      return "float" + bits;
    case DtypeCode::Bfloat:
      return "bfloat" + bits;
    case DtypeCode::Complex:
      return "complex" + bits;
    case DtypeCode::Bool:
      return "bool";
    case DtypeCode::Float8_E4M3FN:
      return "float8_e4m3fn";
    case DtypeCode::Float8_E5M2:
      return "float8_e5m2";
    case DtypeCode::Float8_E8M0FNU:
      return "float8_e8m0fnu";
    default:
      return "DLPack type " + std::to_string(dtype.code) + " of " + bits + " bits";
  }
}

nb::dlpack::dtype dtype_of_typestr(const std::string& typestr, const char* argument) {
  // Byte order, kind, bytes of an element.
  if (typestr.size() == 3 && typestr[0] != '>' && typestr[2] >= '1' && typestr[2] <= '8') {
    const auto bits = static_cast<std::uint8_t>(8 * (typestr[2] - '0'));
    const auto dtype = [bits](DtypeCode code) {
      return nb::dlpack::dtype{static_cast<std::uint8_t>(code), bits, 1};
    };
    switch (typestr[1]) {
      case 'f':
        return dtype(DtypeCode::Float);
      case 'i':
        return dtype(DtypeCode::Int);
      case 'u':
        return dtype(DtypeCode::UInt);
      case 'b':
        return dtype(DtypeCode::Bool);
      default:
        break;
    }
  }
  refuse("launch.dtype", std::string(argument) + " has elements of a type that is not understood",
         '"' + typestr + '"', "what __cuda_array_interface__ has a typestr for; DLPack has more");
}

}  // namespace heddle::python
