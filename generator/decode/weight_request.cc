#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"
#include "generator/decode/requests.h"
#include "heddle/error.h"

namespace heddle {
namespace {

ElementOrder order_of(Interleave interleave) {
  switch (interleave) {
    case Interleave::kFragment:
      return ElementOrder::kFragment;
    case Interleave::kLinear:
      return ElementOrder::kLinear;
    case Interleave::kAwq:
      return ElementOrder::kAwq;
    case Interleave::kEvenOdd:
      return ElementOrder::kEvenOdd;
    case Interleave::kTrtllm:
      return ElementOrder::kTrtllm;
    case Interleave::kPermutation:
      return ElementOrder::kPermutation;
    case Interleave::kByteFragment:
      return ElementOrder::kByteFragment;
    case Interleave::kSwizzle128b:
      throw Error(
          ErrorCategory::kUnsupported, "decode.unsupported",
          "codes in the order swizzle_128b are multiplied as they are: nothing decodes them");
  }
  return ElementOrder::kFragment;
}

DecodeRequest request_of(const WeightSpec& weight, DType dtype) {
  switch (weight.type) {
    case WeightType::kE4m3:
      return float_request(4, 3, dtype);
    case WeightType::kE5m2:
      return float_request(5, 2, dtype);
    case WeightType::kE2m3:
      return float_request(2, 3, dtype);
    case WeightType::kE3m2:
      return float_request(3, 2, dtype);
    case WeightType::kE2m1:
      return float_request(2, 1, dtype);
    case WeightType::kNf4:
      return table_request(nf4_values(), dtype);
    case WeightType::kFp16:
      return float_request(kBinary16.exponent_bits, kBinary16.mantissa_bits, dtype);
    case WeightType::kBf16:
      return float_request(kBfloat16.exponent_bits, kBfloat16.mantissa_bits, dtype);
    case WeightType::kUint:
    case WeightType::kInt:
      break;
  }
  DecodeRequest request;
  request.bits = weight.bits;
  request.type = weight.type;
  request.dtype = dtype;
  // A float zero point is no part of decoding: it meets the sums.
  request.zero_point = weight.zero_point == ZeroPoint::kInt ? ZeroPoint::kInt : ZeroPoint::kNone;
  return request;
}

}  // namespace

DecodeRequest decode_request(const WeightSpec& weight, DType dtype) {
  // All integers of four bits less another are e4m3, which meets e5m2, too.
  DecodeRequest request = request_of(weight, dtype == DType::kFp8E5m2 ? DType::kFp8E4m3 : dtype);
  request.order = order_of(weight.interleave);
  request.permutation = weight.permutation;
  request.fold_scale = weight.has_two_levels();
  return request;
}

}  // namespace heddle
