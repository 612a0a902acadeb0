#include <fmt/format.h>

#include "generator/decode/bit_order.h"
#include "generator/decode/derivation.h"
#include "generator/decode/float16.h"
#include "heddle/error.h"

namespace heddle {
namespace {

std::string why_no_integer(const DecodeRequest& request) {
  const int mantissa_bits = float16_format(request.dtype).mantissa_bits;
  if (request.bits < 1 || request.bits > 8) {
    return fmt::format("there is no plan for {}-bit weights", request.bits);
  }
  if (request.bits > mantissa_bits + 1) {
    return fmt::format("{} bits do not fit the {} mantissa bits of {}", request.bits, mantissa_bits,
                       to_string(request.dtype));
  }
  return {};
}

std::string why_no_scale(const DecodeRequest& request) {
  const bool is_plain =
      request.kind == CodeKind::kInteger && request.zero_point == ZeroPoint::kNone;
  if (!is_plain) return "only integers without zero points are scaled in the same operation";
  if (request.dtype != DType::kBf16) return "scales in fp16 have no room for the powers of two";
  return {};
}

// Codes of 16 bits are what the matrix instruction takes.
bool is_plain(const DecodeRequest& request) {
  return request.kind == CodeKind::kFloat && request.bits == 16;
}

std::string why_no_plain(const DecodeRequest& request) {
  const Float16Format format = float16_format(request.dtype);
  if (request.exponent_bits != format.exponent_bits ||
      request.mantissa_bits != format.mantissa_bits) {
    return fmt::format("weights of 16 bits are multiplied as the {} that they are",
                       request.exponent_bits == kBfloat16.exponent_bits ? "bf16" : "fp16");
  }
  if (request.order != ElementOrder::kFragment) return "weights of 16 bits have one order";
  return {};
}

std::string why_no_float(const DecodeRequest& request) {
  const Float16Format format = float16_format(request.dtype);
  const int e = request.exponent_bits;
  const int m = request.mantissa_bits;
  if (is_plain(request)) return why_no_plain(request);
  if (e < 1 || m < 1 || 1 + e + m != request.bits || request.bits > 8) {
    return fmt::format("e{}m{} is no float of {} bits", e, m, request.bits);
  }
  if (e > format.exponent_bits || m > format.mantissa_bits) {
    return fmt::format("e{}m{} does not fit {}", e, m, to_string(request.dtype));
  }
  return {};
}

bool is_to_bytes(const DecodeRequest& request) {
  return request.dtype == DType::kInt8 || request.dtype == DType::kFp8E4m3;
}

std::string why_no_bytes(const DecodeRequest& request) {
  if (request.kind != CodeKind::kInteger || request.bits != 4) {
    return fmt::format("only integers of 4 bits become {}", to_string(request.dtype));
  }
  if (request.fold_scale && request.dtype != DType::kInt8) {
    return "a weight times an integer scale is no fp8_e4m3";
  }
  if (request.zero_order != ZeroOrder::kRows) return "codes of eight bits have zero points of rows";
  if (request.order != ElementOrder::kByteFragment) {
    return fmt::format("codes that become {} have the order byte_fragment",
                       to_string(request.dtype));
  }
  return {};
}

std::string why_unsupported(const DecodeRequest& request) {
  const bool is_16_bits = request.dtype == DType::kFp16 || request.dtype == DType::kBf16;
  if (!is_16_bits && !is_to_bytes(request)) {
    return "weights decode to fp16, bf16, int8 or fp8_e4m3 only";
  }
  if (request.zero_point == ZeroPoint::kFloat) return "there is no plan for float zero points";
  if (is_to_bytes(request)) return why_no_bytes(request);
  if (request.order == ElementOrder::kByteFragment) {
    return "codes in the order byte_fragment become eight bits";
  }
  if (request.fold_scale) {
    if (std::string why = why_no_scale(request); !why.empty()) return why;
  }
  if (request.kind == CodeKind::kInteger) return why_no_integer(request);
  if (request.zero_point != ZeroPoint::kNone) return "only integer codes have zero points";
  if (request.kind == CodeKind::kFloat) return why_no_float(request);
  if (request.bits != 4 || request.table.size() != 16) return "a code table has 16 values";
  return {};
}

}  // namespace

// The words are the A operand's registers.
void derive_plain(DecodePlan& plan) {
  for (int word = 0; word < plan.words; ++word) plan.outputs.push_back(word);
}

DecodePlan derive_decode_plan(const DecodeRequest& request) {
  if (const std::string why = why_unsupported(request); !why.empty()) {
    throw Error(ErrorCategory::kUnsupported, "decode.unsupported", why);
  }
  DecodePlan plan;
  plan.request = request;
  set_bit_order(plan);
  switch (request.kind) {
    case CodeKind::kInteger:
      is_to_bytes(request) ? derive_byte_codes(plan) : derive_integer(plan);
      break;
    case CodeKind::kFloat:
      is_plain(request) ? derive_plain(plan) : derive_float(plan);
      break;
    case CodeKind::kTable:
      derive_table(plan);
      break;
  }
  plan.instructions_per_weight = static_cast<double>(plan.ops.size()) / plan.elements();
  return plan;
}

}  // namespace heddle
