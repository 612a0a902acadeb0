// Tensor maps are encoded once for as long as a thread uses the same tokens.
#include "runtime/launch/tensor_maps.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::memory;

class TensorMapsTest : public testing::FakeDevice {
 protected:
  // How often the driver encodes for these.
  static int encodings(const TokenBoxes& boxes) {
    const int before = fake::count("cuTensorMapEncodeTiled");
    EXPECT_NE(token_map(cuda::driver(), boxes), nullptr);
    return fake::count("cuTensorMapEncodeTiled") - before;
  }
};

TEST_F(TensorMapsTest, OfTheSameTokensAreEncodedOnce) {
  const TokenBoxes boxes{memory(0x10000).data, 16, 4096, 16, false};
  EXPECT_EQ(encodings(boxes), 1);
  EXPECT_EQ(encodings(boxes), 0);
}

TEST_F(TensorMapsTest, OfAnythingElseAreOthers) {
  const TokenBoxes boxes{memory(0x20000).data, 16, 4096, 16, false};
  const auto with = [&](auto change) {
    TokenBoxes changed = boxes;
    change(&changed);
    return changed;
  };
  for (const TokenBoxes& other : {
           with([](TokenBoxes* b) { b->x = memory(0x30000).data; }),
           with([](TokenBoxes* b) { b->m = 17; }),
           with([](TokenBoxes* b) { b->k = 8192; }),
           with([](TokenBoxes* b) { b->box_tokens = 32; }),
           with([](TokenBoxes* b) { b->bf16 = true; }),
       }) {
    encodings(boxes);
    EXPECT_EQ(encodings(other), 1);
  }
}

TEST_F(TensorMapsTest, OfScalesHaveTheirOwnPlaces) {
  const TokenBoxes tokens{memory(0x60000).data, 16, 4096, 16, false};
  const ScaleBoxes scales{memory(0x60000).data, 16, 4096, 16, 16};
  const cuda::CUtensorMap* of_tokens = token_map(cuda::driver(), tokens);
  const int before = fake::count("cuTensorMapEncodeTiled");
  const cuda::CUtensorMap* of_scales = scale_map(cuda::driver(), scales);
  EXPECT_NE(of_scales, of_tokens) << "a launch takes both";
  EXPECT_EQ(scale_map(cuda::driver(), scales), of_scales);
  EXPECT_EQ(token_map(cuda::driver(), tokens), of_tokens);
  EXPECT_EQ(fake::count("cuTensorMapEncodeTiled"), before + 1);
  ScaleBoxes strided = scales;
  strided.stride = 32;
  scale_map(cuda::driver(), strided);
  EXPECT_EQ(fake::count("cuTensorMapEncodeTiled"), before + 2);
}

TEST_F(TensorMapsTest, ManyBuffersArePushedOutAndEncodedAnew) {
  for (int round = 0; round < 2; ++round) {
    int encoded = 0;
    for (std::uintptr_t i = 0; i < 100; ++i) {
      encoded += encodings({memory(0x100000 * (i + 1)).data, 16, 4096, 16, false});
    }
    EXPECT_GT(encoded, 90);
  }
}

TEST_F(TensorMapsTest, AFailureIsNotKept) {
  const TokenBoxes boxes{memory(0x40000).data, 16, 4096, 16, false};
  fake::fail("cuTensorMapEncodeTiled", 2);
  EXPECT_EQ(code_of([&] { token_map(cuda::driver(), boxes); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(code_of([&] { token_map(cuda::driver(), boxes); }), "driver.CUDA_ERROR_OUT_OF_MEMORY");
  fake::heal();
  EXPECT_EQ(encodings(boxes), 1);
}

TEST_F(TensorMapsTest, ThreadsShareNone) {
  const TokenBoxes boxes{memory(0x50000).data, 16, 4096, 16, false};
  const cuda::CUtensorMap* mine = token_map(cuda::driver(), boxes);
  std::thread([&] {
    EXPECT_EQ(encodings(boxes), 1);
    EXPECT_NE(token_map(cuda::driver(), boxes), mine);
  }).join();
}

}  // namespace
}  // namespace heddle
