#include "generator/layout/plain_sizes.h"

#include <fmt/format.h>

#include "generator/layout/packable.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {

PlainSizes plain_sizes(const GemmSpec& spec) {
  expect_packable(spec);
  const auto n = static_cast<std::size_t>(spec.shape.n);
  const auto k = static_cast<std::size_t>(spec.shape.k);
  const auto groups = static_cast<std::size_t>(groups_along_k(spec.weight, spec.shape.k));
  const std::size_t codes = n * k * code_bytes(spec.weight);
  if (!spec.weight.has_scales()) return {codes, 0, 0, 0};
  const std::size_t rows = (n - 1) / static_cast<std::size_t>(spec.weight.group_rows) + 1;
  const std::size_t count = spec.weight.group_size == kPerTensor ? 1 : rows * groups;
  const auto bytes = static_cast<std::size_t>(bytes_of(spec.weight.scale_dtype));
  const ZeroPoint zero = spec.weight.zero_point;
  const std::size_t zeros = zero == ZeroPoint::kNone  ? 0
                            : zero == ZeroPoint::kInt ? count
                                                      : count * bytes;
  const auto channel_bytes = spec.weight.has_two_levels()
                                 ? static_cast<std::size_t>(bytes_of(*spec.weight.channel_scale))
                                 : 0;
  return {codes, count * bytes, zeros, n * channel_bytes};
}

void expect_size(const char* what, std::size_t got, std::size_t want) {
  if (got == want) return;
  throw Error(ErrorCategory::kUsage, "weights.size",
              fmt::format("{} has {} bytes, the spec asks for {}", what, got, want));
}

void expect_plain_sizes(const GemmSpec& spec, const PlainSizes& given) {
  const PlainSizes sizes = plain_sizes(spec);
  expect_size("codes", given.codes, sizes.codes);
  expect_size("scales", given.scales, sizes.scales);
  expect_size("zeros", given.zeros, sizes.zeros);
  expect_size("channel_scales", given.channel_scales, sizes.channel_scales);
}

}  // namespace heddle
