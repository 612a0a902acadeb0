#include <fmt/format.h>

#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"
#include "generator/decode/requests.h"

namespace heddle {
namespace {

struct FloatCode {
  int exponent_bits;
  int mantissa_bits;
};
constexpr FloatCode kFloatCodes[] = {{4, 3}, {5, 2}, {2, 3}, {3, 2}, {2, 1}};

struct NamedOrder {
  ElementOrder order;
  const char* suffix;
};
constexpr NamedOrder kOrders[] = {{ElementOrder::kFragment, ""},
                                  {ElementOrder::kLinear, ", linear"},
                                  {ElementOrder::kAwq, ", awq"},
                                  {ElementOrder::kEvenOdd, ", even_odd"},
                                  {ElementOrder::kTrtllm, ", trtllm"}};

bool has_order(const DecodeRequest& request, ElementOrder order) {
  const int bits = request.bits;
  if (order == ElementOrder::kTrtllm) {
    return (bits == 4 || bits == 8) && request.kind != CodeKind::kTable;
  }
  if (order == ElementOrder::kAwq) return bits == 4;
  if (order == ElementOrder::kEvenOdd) return 32 % bits == 0;
  return true;
}

void add(std::vector<NamedDecodeRequest>& list, const std::string& name, DecodeRequest request) {
  for (const NamedOrder& order : kOrders) {
    if (!has_order(request, order.order)) continue;
    request.order = order.order;
    list.push_back({name + order.suffix, request});
    if (request.zero_point != ZeroPoint::kInt) continue;
    DecodeRequest by_element = request;
    by_element.zero_order = ZeroOrder::kElements;
    list.push_back({name + " by element" + order.suffix, by_element});
  }
}

void add_integers(std::vector<NamedDecodeRequest>& list, DType dtype) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        DecodeRequest request;
        request.bits = bits;
        request.type = type;
        request.zero_point = zero;
        request.dtype = dtype;
        const std::string name = fmt::format("{}{}{}", to_string(type), bits,
                                             zero == ZeroPoint::kInt ? " - zero point" : "");
        add(list, name, request);
        request.fold_power = true;
        add(list, name + " / power of two", request);
      }
    }
  }
}

// Integers that are multiplied by their scale while they are decoded to BF16.
void add_scaled_integers(std::vector<NamedDecodeRequest>& list) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
      DecodeRequest request;
      request.bits = bits;
      request.type = type;
      request.dtype = DType::kBf16;
      request.fold_scale = true;
      add(list, fmt::format("{}{} times scale", to_string(type), bits), request);
    }
  }
}

// Integers that are multiplied by activations of eight bits.
void add_byte_codes(std::vector<NamedDecodeRequest>& list) {
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3}) {
    for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        DecodeRequest request;
        request.type = type;
        request.zero_point = zero;
        request.dtype = dtype;
        request.order = ElementOrder::kByteFragment;
        list.push_back({fmt::format("{}{}{}, byte_fragment", to_string(type), request.bits,
                                    zero == ZeroPoint::kInt ? " - zero point" : ""),
                        request});
        if (dtype != DType::kInt8) continue;
        request.fold_scale = true;
        list.push_back({list.back().name + ", times scale", request});
      }
    }
  }
}

}  // namespace

DecodeRequest float_request(int exponent_bits, int mantissa_bits, DType dtype) {
  DecodeRequest request;
  request.kind = CodeKind::kFloat;
  request.bits = 1 + exponent_bits + mantissa_bits;
  request.exponent_bits = exponent_bits;
  request.mantissa_bits = mantissa_bits;
  request.dtype = dtype;
  return request;
}

DecodeRequest table_request(const std::vector<float>& table, DType dtype) {
  DecodeRequest request;
  request.kind = CodeKind::kTable;
  request.table = table;
  request.dtype = dtype;
  return request;
}

const std::vector<float>& nf4_values() {
  static const std::vector<float> values{
      -1.0f,
      -0.6961928009986877f,
      -0.5250730514526367f,
      -0.39491748809814453f,
      -0.28444138169288635f,
      -0.18477343022823334f,
      -0.09105003625154495f,
      0.0f,
      0.07958029955625534f,
      0.16093020141124725f,
      0.24611230194568634f,
      0.33791524171829224f,
      0.44070982933044434f,
      0.5626170039176941f,
      0.7229568362236023f,
      1.0f,
  };
  return values;
}

std::vector<NamedDecodeRequest> every_decode_request() {
  std::vector<NamedDecodeRequest> list;
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    add_integers(list, dtype);
    for (const FloatCode code : kFloatCodes) {
      const std::string name = fmt::format("e{}m{}", code.exponent_bits, code.mantissa_bits);
      DecodeRequest request = float_request(code.exponent_bits, code.mantissa_bits, dtype);
      add(list, name, request);
      request.fold_power = true;
      add(list, name + " / power of two", request);
    }
    add(list, "nf4", table_request(nf4_values(), dtype));
    const Float16Format same = float16_format(dtype);
    list.push_back({"16 bits, of the same type",
                    float_request(same.exponent_bits, same.mantissa_bits, dtype)});
  }
  add_scaled_integers(list);
  add_byte_codes(list);
  return list;
}

}  // namespace heddle
