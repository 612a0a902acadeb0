#include "generator/render/scale_type.h"

namespace heddle {

std::string scale_type_name(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return "kFp16";
    case DType::kBf16:
      return "kBf16";
    case DType::kFp32:
      return "kFp32";
    case DType::kE8m0:
      return "kE8m0";
    case DType::kE4m3:
      return "kE4m3";
  }
  return {};
}

}  // namespace heddle
