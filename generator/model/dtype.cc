#include "generator/model/dtype.h"

#include "heddle/error.h"

namespace heddle {

std::optional<DType> read_dtype(const ConfigReader& config) {
  const std::string_view key = config.spelling({"torch_dtype", "dtype"});
  if (!config.has(key)) return std::nullopt;
  std::string dtype = config.string_or(key, "");
  constexpr std::string_view kTorchPrefix = "torch.";
  if (dtype.starts_with(kTorchPrefix)) dtype.erase(0, kTorchPrefix.size());
  if (dtype == "bfloat16") return DType::kBf16;
  if (dtype == "float16" || dtype.empty()) return DType::kFp16;  // empty: there is a finding
  throw Error(
      ErrorCategory::kUnsupported, "model.dtype",
      std::vector<Problem>{{config.pointer(key), "kernels take activations of 16 bits",
                            '"' + excerpt(dtype) + '"', "\"float16\" or \"bfloat16\"", ""}});
}

}  // namespace heddle
