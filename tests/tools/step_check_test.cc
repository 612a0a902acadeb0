#include "tools/gpu_harness/step/step_check.h"

#include <gtest/gtest.h>

#include <cstring>

namespace heddle {
namespace {

template <typename Word>
std::vector<unsigned char> bytes_of_words(const std::vector<Word>& words) {
  std::vector<unsigned char> bytes(words.size() * sizeof(Word));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::optional<std::size_t> first_bad_half(std::uint16_t word, DType dtype) {
  return first_not_finite(bytes_of_words<std::uint16_t>({0x0000, 0x8001, word}), dtype);
}

TEST(FirstNotFinite, FindsInfinitiesAndNaNsOfEachType) {
  EXPECT_EQ(first_bad_half(0x7BFF, DType::kFp16), std::nullopt);  // 65504
  EXPECT_EQ(first_bad_half(0xFC00, DType::kFp16), 2U);
  EXPECT_EQ(first_bad_half(0x7E00, DType::kFp16), 2U);
  EXPECT_EQ(first_bad_half(0x7C00, DType::kBf16), std::nullopt);
  EXPECT_EQ(first_bad_half(0x7F80, DType::kBf16), 2U);
  EXPECT_EQ(first_bad_half(0xFFFF, DType::kBf16), 2U);
  const auto words = [](std::uint32_t word) { return bytes_of_words<std::uint32_t>({1, word}); };
  EXPECT_EQ(first_not_finite(words(0x7F7FFFFF), DType::kFp32), std::nullopt);
  EXPECT_EQ(first_not_finite(words(0xFF800000), DType::kFp32), 1U);
}

}  // namespace
}  // namespace heddle
