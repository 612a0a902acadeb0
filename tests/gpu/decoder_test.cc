// examples/decoder on the GPU: small random models against FP32. Skips where there is no GPU.
#include "examples/decoder/decoder.h"

#include <gtest/gtest.h>

#include "generator/target/capabilities.h"
#include "tests/decoder/follow_reference.h"
#include "tests/decoder/small_model.h"
#include "tests/gpu/gpu_fixture.h"

namespace heddle {
namespace {

using Prompts = std::vector<std::vector<int>>;

class DecoderGpu : public OnGpu {
 protected:
  bool makes_kernels() const override { return true; }

  // Tokens of the reference in, logits compared; with `greedy` the tokens that follow, too.
  void expect_reference(const SmallModel& small, const std::string& kv, const Prompts& prompts,
                        bool greedy, double most_error) {
    const TemporaryFolder folder;
    small.write(folder);
    const ::Model model(folder.path(), kv, static_cast<std::int64_t>(prompts.size()),
                        target().arch());
    if (only_makes(model.specs())) return;
    void* context = nullptr;
    void* stream = nullptr;
    cuda("cuDevicePrimaryCtxRetain", &context, 0);
    cuda("cuCtxSetCurrent", context);
    cuda("cuStreamCreate", &stream, 0U);
    const Greedy expected = reference_greedy(small.plain, prompts, kSureSteps);
    Decoder decoder(runtime(), model, 64, stream);
    // Twice: sequences begin anew.
    const auto check = [&](std::size_t step, std::size_t s, const std::vector<float>& got) {
      EXPECT_LT(relative_error(got, expected.logits[step][s]), most_error)
          << kv << ", step " << step << ", sequence " << s;
      if (!greedy) return;
      EXPECT_EQ(argmax(got.data(), got.size()), expected.tokens[step][s])
          << kv << ", step " << step << ", sequence " << s;
    };
    for (int round = 0; round < 2; ++round) follow_reference(decoder, prompts, expected, check);
    cuda("cuStreamDestroy_v2", stream);
  }
};

Prompts many_prompts(std::size_t count) {
  Prompts prompts;
  for (std::size_t s = 0; s < count; ++s) {
    prompts.emplace_back();
    for (std::size_t i = 0; i <= s * 7 % 33; ++i) {
      prompts.back().push_back(static_cast<int>((s * 31 + i * 17) % 96));
    }
  }
  return prompts;
}

// FP16: 11 bits, and int8 of each head's keys and values.
TEST_F(DecoderGpu, Llama) {
  expect_reference(small_llama(), "fp16", ragged_prompts(), true, 0.01);
  expect_reference(small_llama(), "int8:head", ragged_prompts(), true, 0.02);
}

TEST_F(DecoderGpu, OtherCachesAndHeads) {
  expect_reference(small_llama(true), "fp16", ragged_prompts(), false, 0.02);
  expect_reference(small_llama(), "fp8_e4m3:head", ragged_prompts(), false, 0.15);
  expect_reference(small_llama(), "int8:head,int4:group:32", ragged_prompts(), false, 0.3);
}

// BF16: 8 bits.
TEST_F(DecoderGpu, Qwen3) {
  expect_reference(small_qwen3(false), "int8:head", ragged_prompts(), true, 0.04);
  expect_reference(small_qwen3(true), "int8:head", ragged_prompts(), true, 0.04);
}

// X in eight bits alone, by itself, is an error of 0.03 for INT8 and of 0.06 for FP8.
TEST_F(DecoderGpu, ActivationsOfEightBits) {
  if (!IsSkipped() && !has_wgmma(target())) GTEST_SKIP() << "wgmma is sm_90's alone";
  for (const EightBits kind : {EightBits::kInt8, EightBits::kInt8Zeros}) {
    expect_reference(small_eight_bits(kind), "int8:head", ragged_prompts(), false, 0.1);
  }
  for (const EightBits kind : {EightBits::kFp8, EightBits::kFp8Static, EightBits::kFp8Blocks,
                               EightBits::kFp8PowerBlocks}) {
    expect_reference(small_eight_bits(kind), "int8:head", ragged_prompts(), false, 0.15);
  }
  expect_reference(small_eight_bits(EightBits::kInt8), "bf16", many_prompts(64), false, 0.1);
  expect_reference(small_eight_bits(EightBits::kFp8Blocks), "bf16", many_prompts(64), false, 0.15);
}

TEST_F(DecoderGpu, EveryKindOfBatch) {
  for (const std::size_t batch : {1, 2, 8, 17, 64}) {
    expect_reference(small_llama(), "int8:head", many_prompts(batch), false, 0.05);
  }
}

}  // namespace
}  // namespace heddle
