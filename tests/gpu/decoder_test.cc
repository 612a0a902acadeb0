// examples/decoder on the GPU: small random models against FP32. Skips where there is no GPU.
#include "examples/decoder/decoder.h"

#include <gtest/gtest.h>

#include "examples/decoder/nccl.h"
#include "generator/target/capabilities.h"
#include "tests/decoder/follow_reference.h"
#include "tests/decoder/small_model.h"
#include "tests/decoder/two_ranks.h"
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
    ::cuda("cuDevicePrimaryCtxRetain", &context, 0);
    ::cuda("cuCtxSetCurrent", context);
    ::cuda("cuStreamCreate", &stream, 0U);
    Decoder decoder(runtime(), model, 64, stream);
    follow(decoder, small, kv, prompts, greedy, most_error);
    ::cuda("cuStreamDestroy_v2", stream);
  }

  // The same of two ranks, each on a GPU, whose sums NCCL makes.
  void expect_reference_of_ranks(const SmallModel& small, const std::string& kv,
                                 const Prompts& prompts, bool greedy, double most_error) {
    const TemporaryFolder folder;
    small.write(folder);
    testing::TwoRanks ranks(folder.path(), kv, static_cast<std::int64_t>(prompts.size()),
                            target().arch());
    if (KernelsToMake::only_these()) {
      for (int rank = 0; rank < 2; ++rank) only_makes(ranks.model(rank).specs());
      return;
    }
    nccl();  // not first in a capture
    ranks.load(runtime(), 64, [&ranks](int rank) -> Decoder::SumOfRanks {
      return [rank, type = ranks.model(rank).type](DeviceOutput values, Stream stream) {
        nccl().sum(rank, values, type, stream);
      };
    });
    follow(ranks, small, kv, prompts, greedy, most_error);
  }
  template <typename AnyDecoder>
  static void follow(AnyDecoder& decoder, const SmallModel& small, const std::string& kv,
                     const Prompts& prompts, bool greedy, double most_error) {
    const Greedy expected = reference_greedy(small.plain, prompts, kSureSteps);
    const auto check = [&](std::size_t step, std::size_t s, const std::vector<float>& got) {
      EXPECT_LT(relative_error(got, expected.logits[step][s]), most_error)
          << kv << ", step " << step << ", sequence " << s;
      if (!greedy) return;
      EXPECT_EQ(argmax(got.data(), got.size()), expected.tokens[step][s])
          << kv << ", step " << step << ", sequence " << s;
    };
    // Twice: sequences begin anew.
    for (int round = 0; round < 2; ++round) follow_reference(decoder, prompts, expected, check);
  }
  static Nccl& nccl() {
    static Nccl nccl(2);
    return nccl;
  }
  static std::string why_no_ranks() {
    if (KernelsToMake::only_these()) return {};
    int count = 0;
    ::cuda("cuDeviceGetCount", &count);
    if (count < 2) return "needs two GPUs, and there are " + std::to_string(count);
    return dlopen("libnccl.so.2", RTLD_NOW) != nullptr ? "" : "needs NCCL: no libnccl.so.2";
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

// Two experts of a token, chosen by their router's logits.
TEST_F(DecoderGpu, Experts) {
  for (const char* kv : {"fp16", "int8:head"}) {
    expect_reference(small_mixtral(), kv, ragged_prompts(), true, 0.02);
  }
  for (const SmallModel& small : {small_qwen3_moe(), small_gpt_oss()}) {
    for (const char* kv : {"bf16", "int8:head"}) {
      expect_reference(small, kv, ragged_prompts(), true, 0.04);
    }
  }
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

TEST_F(DecoderGpu, TwoRanks) {
  const std::string why = why_no_ranks();
  if (!why.empty()) GTEST_SKIP() << why;
  expect_reference_of_ranks(small_llama(), "fp16", ragged_prompts(), true, 0.01);
  expect_reference_of_ranks(small_llama(), "int8:head", many_prompts(17), false, 0.05);
  expect_reference_of_ranks(small_qwen3(false), "int8:head", ragged_prompts(), true, 0.04);
  expect_reference_of_ranks(small_mixtral(), "int8:head", ragged_prompts(), true, 0.02);
  expect_reference_of_ranks(small_qwen3_moe(), "int8:head", ragged_prompts(), true, 0.04);
  expect_reference_of_ranks(small_gpt_oss(), "int8:head", ragged_prompts(), true, 0.04);
  if (!has_wgmma(target())) return;
  for (const EightBits kind : {EightBits::kInt8, EightBits::kFp8, EightBits::kFp8Static}) {
    expect_reference_of_ranks(small_eight_bits(kind), "int8:head", ragged_prompts(), false, 0.15);
  }
}

TEST_F(DecoderGpu, EveryKindOfBatch) {
  for (const std::size_t batch : {1, 2, 8, 17, 64}) {
    expect_reference(small_llama(), "int8:head", many_prompts(batch), false, 0.05);
  }
}

}  // namespace
}  // namespace heddle
