// The C API for weights in host memory.
#include "heddle/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "generator/layout/packable.h"
#include "generator/layout/plain_sizes.h"
#include "generator/spec/document.h"
#include "generator/spec/words.h"
#include "heddle/operations.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/structs.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::spec_of;
using heddle::c_api::spec_with_weight;
using heddle::c_api::view;
using heddle::c_api::write_struct;

struct heddle_plain_weights {
  heddle::QuantizedWeights weights;
};

namespace {

std::vector<std::uint8_t> bytes_at(const void* data, std::size_t bytes, const char* name) {
  if (bytes > 0) need(data, name);
  const auto* begin = static_cast<const std::uint8_t*>(data);
  return bytes == 0 ? std::vector<std::uint8_t>() : std::vector<std::uint8_t>(begin, begin + bytes);
}

// The bits of N * K values in 16-bit types. Throws Error(kUsage, "weights.size") before it reads
// any.
std::vector<std::uint16_t> values_at(const void* w, std::size_t bytes,
                                     const heddle::MatrixShape& shape) {
  const auto values = static_cast<std::uint64_t>(shape.n) * static_cast<std::uint64_t>(shape.k);
  if (bytes != 2 * values) {
    heddle::c_api::refuse("weights.size",
                          fmt::format("w has {} bytes and needs {}: {} by {} values "
                                      "of 2 bytes",
                                      bytes, 2 * values, shape.n, shape.k));
  }
  std::vector<std::uint16_t> copy(values);
  std::memcpy(copy.data(), w, bytes);
  return copy;
}

// A byte whose upper bits say something else than its code would become another code. Of signed
// codes they may be the sign.
void expect_codes(const std::vector<std::uint8_t>& codes, const heddle::WeightSpec& weight,
                  const char* name) {
  if (weight.bits >= 8) return;
  const unsigned end = 1U << static_cast<unsigned>(weight.bits);
  const unsigned negative = weight.type == heddle::WeightType::kInt ? 256 - end / 2 : 256;
  const auto bad =
      std::ranges::find_if(codes, [&](unsigned code) { return code >= end && code < negative; });
  if (bad == codes.end()) return;
  heddle::c_api::refuse(
      "weights.range",
      fmt::format("{} has {} at {}, which is no code of {} bits; allowed: 0 to {}{}", name, *bad,
                  bad - codes.begin(), weight.bits, end - 1,
                  negative < 256 ? ", or with the sign in the upper bits" : ""));
}

}  // namespace

heddle::Spec heddle::c_api::spec_with_weight(const char* spec, std::size_t spec_length) {
  auto parsed = Spec::parse(view(spec, spec_length));
  if (!parsed.has_weight()) {
    const bool is_moe = parsed.op() == Op::kMoe;
    refuse("api.op",
           fmt::format("the operation {} has {}", to_string(parsed.op()),
                       is_moe ? "two W for each expert, which heddle_moe_gemms() describes"
                              : "no weights"));
  }
  return parsed;
}

heddle::Spec heddle::c_api::spec_of(Op op, const char* spec, std::size_t spec_length) {
  auto parsed = Spec::parse(view(spec, spec_length));
  if (parsed.op() != op) {
    refuse("api.op", fmt::format("the spec's operation is {}; allowed: {}", to_string(parsed.op()),
                                 to_string(op)));
  }
  return parsed;
}

heddle_status heddle_packed_bytes(const char* spec, size_t spec_length, size_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes");
    const heddle::Spec parsed = spec_with_weight(spec, spec_length);
    heddle::expect_packable(parsed);
    *bytes = heddle::weight_layout(parsed.weight_shape(), parsed.weight()).total_bytes;
  });
}

heddle_status heddle_dtype_bytes(const char* dtype, size_t dtype_length, int32_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes");
    const std::string_view word = view(dtype, dtype_length);
    const auto found = std::ranges::find(heddle::kDTypeWords, word);
    if (found == heddle::kDTypeWords.end()) {
      heddle::c_api::refuse("api.dtype",
                            fmt::format("\"{}\" is no type; allowed: {}", heddle::excerpt(word),
                                        fmt::join(heddle::kDTypeWords, ", ")));
    }
    *bytes = heddle::bytes_of(static_cast<heddle::DType>(found - heddle::kDTypeWords.begin()));
  });
}

heddle_status heddle_layout_version(const char* spec, size_t spec_length, int32_t* version) {
  return guarded([&] {
    need(version, "version");
    static_cast<void>(spec_with_weight(spec, spec_length));  // refuses one without weights
    *version = heddle::kLayoutVersion;
  });
}

heddle_status heddle_check_layout_version(const char* spec, size_t spec_length, int32_t version) {
  return guarded(
      [&] { heddle::check_layout_version(spec_with_weight(spec, spec_length).weight(), version); });
}

heddle_status heddle_check_packed_weights(const char* kernel, size_t kernel_length,
                                          const char* packed, size_t packed_length) {
  return guarded([&] {
    heddle::check_packed_weights(spec_with_weight(kernel, kernel_length),
                                 spec_with_weight(packed, packed_length));
  });
}

heddle_status heddle_pack_weights(const char* spec, size_t spec_length,
                                  const heddle_quantized_weights* weights, void* packed,
                                  size_t packed_bytes) {
  return guarded([&] {
    need(packed, "packed");
    const heddle_quantized_weights given =
        heddle::c_api::read_struct(weights, "heddle_quantized_weights");
    const heddle::Spec parsed = spec_of(heddle::GemmKernel::kOp, spec, spec_length);
    // Before anything is read or written: a size may be any number.
    heddle::expect_plain_sizes(parsed.gemm(), {given.codes_bytes, given.scales_bytes,
                                               given.zeros_bytes, given.channel_scales_bytes});
    const std::size_t needed = heddle::weight_layout(parsed.gemm()).total_bytes;
    if (packed_bytes < needed) {
      heddle::c_api::refuse("api.too_small",
                            fmt::format("packed has {} bytes and needs {}", packed_bytes, needed));
    }
    heddle::QuantizedWeights plain;
    plain.codes = bytes_at(given.codes, given.codes_bytes, "codes");
    plain.scales = bytes_at(given.scales, given.scales_bytes, "scales");
    plain.zeros = bytes_at(given.zeros, given.zeros_bytes, "zeros");
    plain.tensor_scale = given.tensor_scale;
    plain.channel_scales =
        bytes_at(given.channel_scales, given.channel_scales_bytes, "channel_scales");
    const heddle::WeightSpec& weight = parsed.gemm().weight;
    if (weight.has_scales()) expect_codes(plain.codes, weight, "codes");
    if (weight.zero_point == heddle::ZeroPoint::kInt) expect_codes(plain.zeros, weight, "zeros");
    const std::vector<std::uint8_t> bytes = heddle::pack_weights(parsed.gemm(), plain);
    std::ranges::copy(bytes, static_cast<std::uint8_t*>(packed));
  });
}

heddle_status heddle_unpack_weights(const char* spec, size_t spec_length, const void* packed,
                                    size_t packed_bytes, heddle_plain_weights** weights) {
  return guarded([&] {
    need(weights, "weights");
    *weights = nullptr;
    need(packed, "packed");
    const heddle::Spec parsed = spec_of(heddle::GemmKernel::kOp, spec, spec_length);
    heddle::expect_packable(parsed);
    *weights = new heddle_plain_weights{heddle::unpack_weights(
        parsed.gemm(), static_cast<const std::uint8_t*>(packed), packed_bytes)};
  });
}

heddle_status heddle_quantize_weights(const char* spec, size_t spec_length, const void* w,
                                      size_t w_bytes, heddle_plain_weights** weights) {
  return guarded([&] {
    need(weights, "weights");
    *weights = nullptr;
    need(w, "w");
    const heddle::Spec parsed = spec_of(heddle::QuantizeWeightKernel::kOp, spec, spec_length);
    const std::vector<std::uint16_t> values = values_at(w, w_bytes, parsed.weight_shape());
    *weights = new heddle_plain_weights{heddle::quantize_weights(parsed.weight_op(), values)};
  });
}

heddle_status heddle_plain_weights_get(const heddle_plain_weights* weights,
                                       heddle_quantized_weights* arrays) {
  return guarded([&] {
    need(weights, "weights");
    const heddle::QuantizedWeights& plain = weights->weights;
    heddle_quantized_weights values = {};
    values.codes = plain.codes.data();
    values.codes_bytes = plain.codes.size();
    values.scales = plain.scales.data();
    values.scales_bytes = plain.scales.size();
    values.zeros = plain.zeros.empty() ? nullptr : plain.zeros.data();
    values.zeros_bytes = plain.zeros.size();
    values.tensor_scale = plain.tensor_scale;
    values.channel_scales = plain.channel_scales.empty() ? nullptr : plain.channel_scales.data();
    values.channel_scales_bytes = plain.channel_scales.size();
    write_struct(values, arrays, "heddle_quantized_weights");
  });
}

void heddle_plain_weights_destroy(heddle_plain_weights* weights) { delete weights; }
