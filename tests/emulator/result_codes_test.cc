// Outputs as codes of eight bits as the kernels make them, against the host's, bit for bit: ties,
// what is beyond the codes, what is no number, and scales that are none.
#include "steps/result_codes.cuh"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tools/gpu_harness/operations/row_transform/codes.h"

namespace heddle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> values() {
  std::vector<float> values{kInfinity, std::numeric_limits<float>::quiet_NaN(), 0.0F, 1e-40F};
  // All ties of INT8 and many of FP8, what is beside them, and numbers of every size.
  for (float value = 0.5F; value <= 140; value += 0.5F) {
    values.insert(values.end(),
                  {value, std::nextafter(value, kInfinity), std::nextafter(value, 0.0F)});
  }
  for (std::uint32_t bits = 0; bits < 0x7F800000; bits += 0x3FFFB) {
    values.push_back(std::bit_cast<float>(bits));
  }
  while (values.size() % 8 != 0) values.push_back(1);
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

template <class Code>
void expect_codes_of_the_host(RowDtype dtype) {
  using Result = ResultCodes<Code, ResultFp32>;
  RowOutputSpec output;
  output.dtype = dtype;
  output.granularity = RowGranularity::kTensor;
  const std::vector<float> all = values();
  for (const float scale : {1.0F, 0.25F, 0.3F, 3e4F, 0x1p-126F, 0x1p-127F, 0.0F, -1.0F, 0x1p126F,
                            kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    const CodeScale given = given_scale(scale);
    const float inverse = inverse_scale(output, std::bit_cast<std::uint32_t>(scale));
    EXPECT_EQ(given.inverse, inverse) << scale;
    for (std::size_t first = 0; first < all.size(); first += 2) {
      const std::uint32_t pair = Result::rounded(all[first], all[first + 1], given);
      for (std::size_t i = 0; i < 2; ++i) {
        const std::uint8_t wanted =
            inverse == 0 ? std::uint8_t{0} : row_code(dtype, all[first + i], inverse, 0);
        ASSERT_EQ(pair >> (16 * i) & 0xFFFF, wanted) << all[first + i] << " by " << scale;
      }
    }
  }
}

TEST(ResultCodes, AreThoseOfTheHost) {
  expect_codes_of_the_host<Int8Code>(RowDtype::kInt8);
  expect_codes_of_the_host<E4m3Code>(RowDtype::kFp8E4m3);
  expect_codes_of_the_host<E5m2Code>(RowDtype::kFp8E5m2);
}

}  // namespace
}  // namespace heddle
