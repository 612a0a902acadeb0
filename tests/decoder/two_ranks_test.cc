// Two ranks of examples/decoder on the fake driver: what each of them has, when their sums are
// made, and that they share one runtime.
#include "tests/decoder/two_ranks.h"

#include <set>

#include "heddle/statistics.h"
#include "tests/decoder/fake_decoder.h"
#include "tests/decoder/fake_sums.h"
#include "tests/memory_only.h"

namespace heddle::testing {
namespace {

class FakeRanks : public FakeDecoder {
 protected:
  void SetUp() override {
    FakeDecoder::SetUp();
    if (!IsSkipped()) take_emulated_gpus(2);
  }
};

TEST_F(FakeRanks, ARankHasItsPartOfEveryLayer) {
  small_llama().write(folder_);
  for (int rank = 0; rank < 2; ++rank) {
    const ::Model model(folder_.path(), "int8:head", 3, 0, 0, {rank, 2});
    EXPECT_EQ(model.heads().heads, 2);
    EXPECT_EQ(model.heads().kv_heads, 1);
    const KvAppendSpec& append = model.attention(1).append.kv_append();
    EXPECT_EQ(append.query.heads, 2);
    EXPECT_EQ(append.shape.kv_heads, 1);
    const auto sides = [&](Matrix matrix) {
      const GemmShape shape = model.linear(1, matrix).gemm().shape;
      return std::pair(shape.n, shape.k);
    };
    EXPECT_EQ(sides(kQkv), std::pair(std::int64_t{256}, std::int64_t{128}));
    EXPECT_EQ(sides(kO), std::pair(std::int64_t{128}, std::int64_t{128}));
    EXPECT_EQ(sides(kGateUp), std::pair(std::int64_t{256}, std::int64_t{128}));
    EXPECT_EQ(sides(kDown), std::pair(std::int64_t{128}, std::int64_t{128}));
    EXPECT_EQ(model.head.gemm().shape.n, 48);
    EXPECT_EQ(model.vocabulary, 96) << "every rank has all embeddings";
  }
}

// Inner features of every expert are split, the router is not. One rank adds the second bias.
TEST_F(FakeRanks, ARankHasItsPartOfEveryExpert) {
  for (const SmallModel& small : {small_mixtral(), small_qwen3_moe(), small_gpt_oss()}) {
    small.write(folder_);
    for (int rank = 0; rank < 2; ++rank) {
      const ::Model model(folder_.path(), "int8:head", 3, 0, 0, {rank, 2});
      const MoeShape shape = model.experts(1).moe().shape;
      EXPECT_EQ(shape.intermediate, 32);
      EXPECT_EQ(shape.local_experts, 0);
      EXPECT_EQ(model.linear(1, kRouter).gemm().shape.n, shape.experts);
    }
  }
}

TEST_F(FakeRanks, SumsStandBehindTheMatricesThatAreSplitAlongK) {
  small_llama().write(folder_);
  FakeSums sums(kBinary16);
  TwoRanks ranks(folder_.path(), "int8:head", 3);
  ranks.load(runtime(), 64, [&](int rank) { return sums.of(rank); });
  for (const auto& asked : sums.asked) {
    ASSERT_EQ(asked.size(), 4U) << "two in each of two layers";
    for (const FakeSums::Asked& sum : asked) {
      EXPECT_TRUE(sum.captured);
      EXPECT_EQ(sum.bytes, 2U * 3 * 128);
    }
  }
  ranks.read_prompts(ragged_prompts());
  for (const auto& asked : sums.asked) {
    ASSERT_EQ(asked.size(), 4U + 2 * 2) << "two chunks, up to the last layer's keys and values";
    EXPECT_EQ(asked.back().bytes, 2U * 3 * 8 * 128);
    EXPECT_FALSE(asked.back().captured);
  }
  EXPECT_EQ(ranks.step({1, 2, 3}).size(), 3U * 96);
}

// The order of one rank's launches; that of both is left to their threads.
TEST_F(FakeRanks, ASumIsBehindItsMatrixAndAheadOfTheNorm) {
  small_llama().write(folder_);
  const ::Model model(folder_.path(), "int8:head", 3, 0, 0, {1, 2});
  std::vector<std::size_t> places;
  const ::Decoder decoder(runtime(), model, 64, stream_->get(),
                          [&](DeviceOutput, Stream) { places.push_back(fake::launches().size()); });
  const std::vector<fake::Launch> launches = fake::launches();
  ASSERT_EQ(places.size(), 4U);
  for (const std::size_t place : places) {
    EXPECT_EQ(launches.at(place - 1).kernel.rfind("heddle_gemm_", 0), 0U);
    EXPECT_EQ(launches.at(place).kernel.rfind("heddle_row_", 0), 0U);
  }
}

// Ranks whose kernels are alike compile them once, though they ask for them at the same time.
TEST_F(FakeRanks, OneRuntimeCompilesForBoth) {
  small_llama().write(folder_);
  std::set<std::string> specs;
  for (int rank = 0; rank < 2; ++rank) {
    const ::Model model(folder_.path(), "int8:head", 3, 0, 0, {rank, 2});
    for (const Spec& spec : model.specs()) specs.insert(spec.canonical_json());
  }
  Runtime alone(memory_only());
  const std::uint64_t before = statistics().compilations;
  std::vector<Spec> all;
  for (const std::string& spec : specs) all.push_back(Spec::parse(spec));
  alone.prepare(all);
  const std::uint64_t once = statistics().compilations - before;
  Runtime shared(memory_only());
  FakeSums sums(kBinary16);
  TwoRanks ranks(folder_.path(), "int8:head", 3);
  ranks.load(shared, 64, [&](int rank) { return sums.of(rank); });
  EXPECT_EQ(statistics().compilations - before, 2 * once);
}

TEST_F(FakeRanks, RefusesWhatCannotBeSplit) {
  const SmallModel small = small_llama();
  small.write(folder_);
  EXPECT_EQ(code_of([&] {
              ::Model(folder_.path(), "int8:head", 1, 0, 0, {0, 3});
            }),
            "checkpoint.not_converted");
  const TemporaryFolder config;
  write_file(config / "config.json", small.config);
  EXPECT_THROW(::Model(config.path(), "int8:head", 1, 0, 0, {0, 2}), std::runtime_error);
}

}  // namespace
}  // namespace heddle::testing
