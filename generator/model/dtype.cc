#include "generator/model/dtype.h"

#include "heddle/error.h"

namespace heddle {

DType read_dtype(const ConfigReader& config) {
  const std::string_view key = config.spelling({"torch_dtype", "dtype"});
  std::string dtype = config.required_string(key);
  constexpr std::string_view kPrefix = "torch.";
  if (dtype.starts_with(kPrefix)) dtype.erase(0, kPrefix.size());
  if (dtype == "bfloat16") return DType::kBf16;
  if (dtype == "float16" || dtype.empty()) return DType::kFp16;  // empty: there is a finding
  throw Error(
      ErrorCategory::kUnsupported, "model.dtype",
      std::vector<Problem>{{config.pointer(key), "kernels take activations of 16 bits",
                            '"' + excerpt(dtype) + '"', "\"float16\" or \"bfloat16\"", ""}});
}

}  // namespace heddle
