// What `heddle bench --step` runs: a whole decode step whose outputs are all written and finite,
// and whose graph gives the same bits as its launches one by one. bench_step() itself checks both.
#include "tools/gpu_harness/step/step_bench.h"

#include "tests/gpu/gemm_fixture.h"
#include "tests/tools/step_model.h"

namespace heddle {
namespace {

class StepBenchGpu : public GemmGpu {
 protected:
  bool makes_kernels() const override { return false; }

  void bench(const Model& model) {
    const DecodeStep step = decode_step(testing::narrowed(model, 8));
    StepBenchOptions options;
    options.budget = {200, 2000, 1000};
    const StepBenchReport report = bench_step(runtime(), step, {{1, 100}, {8, 300}}, options);
    EXPECT_GT(report.read_tb_per_s, 0);
    ASSERT_EQ(report.rows.size(), 2U);
    for (const StepTiming& row : report.rows) {
      EXPECT_GT(row.us, 0);
      EXPECT_GT(row.alone_us(), 0);
      EXPECT_EQ(row.kernels.size(), step.kernels.size());
    }
  }
};

TEST_F(StepBenchGpu, OfALlama) { bench(testing::step_model(testing::small_llama())); }

TEST_F(StepBenchGpu, WithGatedEpiloguesAndScalesOfKPerChannel) {
  bench(testing::step_model(
      testing::small_llama(), true,
      R"({"k":{"dtype":"int8","granularity":"channel"},"v":{"dtype":"int8"}})"));
}

TEST_F(StepBenchGpu, OfModelsWithExperts) {
  bench(testing::step_model(testing::small_mixtral()));
  bench(testing::step_model(testing::small_qwen3_moe(), true));
  bench(testing::step_model(testing::small_gpt_oss()));
}

TEST_F(StepBenchGpu, OfAGemmaWithNormsAroundItsHalvesAndOfItsHeads) {
  nlohmann::json config = testing::small_llama();
  config.merge_patch(nlohmann::json::parse(R"({"model_type":"gemma3_text","head_dim":64,
    "torch_dtype":"bfloat16","query_pre_attn_scalar":64,"sliding_window":64,
    "layer_types":["sliding_attention","full_attention","full_attention"],
    "hidden_activation":"gelu_pytorch_tanh"})"));
  bench(testing::step_model(config, true, R"({"dtype":"fp8_e4m3"})"));
}

}  // namespace
}  // namespace heddle
