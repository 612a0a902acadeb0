// Codes of e2m1 as the kernel makes them, against the host's.
#include "kv_append/e2m1.cuh"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "generator/kv/kv_rule.h"

namespace heddle {
namespace {

std::vector<float> magnitudes() {
  std::vector<float> values;
  // All ties, all codes, and what is beside them.
  for (float value = 0; value <= 8; value += 0.25F) {
    values.push_back(value);
    values.push_back(std::nextafter(value, 16.0F));
    if (value > 0) values.push_back(std::nextafter(value, 0.0F));
  }
  for (std::uint32_t bits = 0; bits < 0x7F800000; bits += 65521) {
    values.push_back(std::bit_cast<float>(bits));
  }
  values.push_back(std::numeric_limits<float>::infinity());
  return values;
}

TEST(E2m1, CodesAreThoseOfTheHost) {
  KvTensor tensor;
  tensor.dtype = KvDtype::kNvfp4;
  tensor.granularity = KvGranularity::kGroup;
  const KvRule rule = kv_rule(tensor);
  const std::vector<float> values = magnitudes();
  for (std::size_t first = 0; first + 8 <= values.size(); ++first) {
    float eight[8];
    std::uint32_t expected = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const bool negative = ((first + i) / 3) % 2 == 1;
      eight[i] = negative ? -values[first + i] : values[first + i];
      const std::uint32_t code = rule.code_float.nearest(values[first + i]) | (negative ? 8U : 0U);
      expected |= code << (4 * i);
    }
    ASSERT_EQ(e2m1_word(eight), expected) << eight[0] << " and the seven behind it";
  }
}

}  // namespace
}  // namespace heddle
