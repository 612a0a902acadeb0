#include "generator/kv/kv_rule.h"

#include "heddle/kv_cache.h"

namespace heddle {

KvRule kv_rule(const KvTensor& tensor) {
  KvRule rule;
  rule.bits = kv_bits(tensor.dtype);
  switch (tensor.dtype) {
    case KvDtype::kFp16:
    case KvDtype::kBf16:
      rule.is_16_bit = true;
      return rule;
    case KvDtype::kFp8E4m3:
      rule.code_float = {4, 3, 0x7E};  // 448
      break;
    case KvDtype::kFp8E5m2:
      rule.code_float = {5, 2, 0x7B};  // 57344
      break;
    case KvDtype::kNvfp4:
      rule.code_float = {2, 1, 0x07};  // 6
      break;
    case KvDtype::kInt8:
    case KvDtype::kInt4:
    case KvDtype::kInt2: {
      const int half = 1 << (rule.bits - 1);
      rule.low = tensor.symmetric ? 1 : 0;
      rule.high = 2 * half - 1;
      rule.bias = tensor.symmetric ? half : 0;
      rule.divisor = static_cast<float>(tensor.symmetric ? half - 1 : 2 * half - 1);
      return rule;
    }
  }
  rule.is_float = true;
  rule.divisor = rule.code_float.value(rule.code_float.largest);
  return rule;
}

}  // namespace heddle
