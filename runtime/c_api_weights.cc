// The C API for weights in host memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "generator/layout/groups.h"
#include "generator/layout/plain_sizes.h"
#include "heddle/weights.h"
#include "runtime/c_api.h"
#include "runtime/c_api_structs.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::view;

namespace {

std::vector<std::uint8_t> bytes_at(const void* data, std::size_t bytes, const char* name) {
  if (bytes > 0) need(data, name);
  const auto* begin = static_cast<const std::uint8_t*>(data);
  return bytes == 0 ? std::vector<std::uint8_t>() : std::vector<std::uint8_t>(begin, begin + bytes);
}

heddle::Spec spec_with_weight(const char* spec, size_t spec_length) {
  auto parsed = heddle::Spec::parse(view(spec, spec_length));
  if (!parsed.has_weight()) {
    heddle::c_api::refuse("api.op",
                          fmt::format("the operation {} has no weights", to_string(parsed.op())));
  }
  return parsed;
}

}  // namespace

heddle_status heddle_packed_bytes(const char* spec, size_t spec_length, size_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes");
    const heddle::Spec parsed = spec_with_weight(spec, spec_length);
    heddle::expect_groups(parsed.weight_shape().k, parsed.weight());
    *bytes = heddle::weight_layout(parsed.weight_shape(), parsed.weight()).total_bytes;
  });
}

heddle_status heddle_check_layout_version(const char* spec, size_t spec_length, int32_t version) {
  return guarded(
      [&] { heddle::check_layout_version(spec_with_weight(spec, spec_length).weight(), version); });
}

heddle_status heddle_pack_weights(const char* spec, size_t spec_length,
                                  const heddle_quantized_weights* weights, void* packed,
                                  size_t packed_bytes) {
  return guarded([&] {
    need(packed, "packed");
    const heddle_quantized_weights given =
        heddle::c_api::read_struct(weights, "heddle_quantized_weights");
    weights = &given;
    const auto parsed = heddle::Spec::parse(view(spec, spec_length));
    if (parsed.op() != heddle::Op::kGemm) {
      heddle::c_api::refuse("api.op", fmt::format("weights are packed for a gemm, the spec's "
                                                  "operation is {}",
                                                  to_string(parsed.op())));
    }
    // Before anything is read or written: a size may be any number.
    heddle::expect_plain_sizes(parsed.gemm(),
                               {weights->codes_bytes, weights->scales_bytes, weights->zeros_bytes});
    const std::size_t needed = heddle::weight_layout(parsed.gemm()).total_bytes;
    if (packed_bytes < needed) {
      heddle::c_api::refuse("api.too_small",
                            fmt::format("packed has {} bytes and needs {}", packed_bytes, needed));
    }
    heddle::QuantizedWeights plain;
    plain.codes = bytes_at(weights->codes, weights->codes_bytes, "codes");
    plain.scales = bytes_at(weights->scales, weights->scales_bytes, "scales");
    plain.zeros = bytes_at(weights->zeros, weights->zeros_bytes, "zeros");
    plain.tensor_scale = weights->tensor_scale;
    const std::vector<std::uint8_t> bytes = heddle::pack_weights(parsed.gemm(), plain);
    std::ranges::copy(bytes, static_cast<std::uint8_t*>(packed));
  });
}
