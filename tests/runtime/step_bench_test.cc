// A decode step against the fake driver, whose launches take a microsecond each and write nothing.
#include "tools/gpu_harness/step/step_bench.h"

#include "tests/runtime/fake_device.h"
#include "tests/tools/step_model.h"

namespace heddle {
namespace {

using testing::narrowed;
using testing::small_llama;
using testing::step_model;

class StepBenchTest : public testing::FakeDevice {
 protected:
  void TearDown() override {
    FakeDevice::TearDown();
    EXPECT_EQ(fake::live_device_bytes(), 0U);
    EXPECT_EQ(fake::live_events(), 0);
  }

  StepBenchReport bench(const DecodeStep& step, const std::vector<StepLoad>& loads, bool check) {
    Runtime runtime(options_);
    StepBenchOptions options;
    options.read_tb_per_s = 4;
    options.check = check;
    return bench_step(runtime, step, loads, options);
  }
};

TEST_F(StepBenchTest, TimesTheWholeAndEachKernelInItsOrder) {
  const DecodeStep step = decode_step(narrowed(step_model(small_llama()), 4));
  const StepBenchReport report = bench(step, {{1, 100}, {4, 200}}, false);
  ASSERT_EQ(report.rows.size(), 2U);
  for (const StepTiming& row : report.rows) {
    // Kernels that put sums together in a second launch may have more. The step has one more, the
    // copy ahead of the first one.
    EXPECT_GE(row.us, static_cast<double>(step.launches.size()) + 1 - 1e-3);
    EXPECT_NEAR(row.in_step_us(), row.us - 1, 1e-3 * row.us);
    EXPECT_NEAR(row.alone_us(), row.us - 1, 1e-3 * row.us);
    ASSERT_EQ(row.kernels.size(), step.kernels.size());
    for (std::size_t i = 0; i < step.kernels.size(); ++i) {
      EXPECT_EQ(row.kernels[i].launches, step.count(i));
      EXPECT_GE(row.kernels[i].alone_us, 1 - 1e-3) << step.kernels[i].name();
    }
  }
  EXPECT_LT(report.rows[0].bytes(), report.rows[1].bytes());
}

TEST_F(StepBenchTest, EachLaunchHasWeightsAndACacheOfItsOwn) {
  const Model model = narrowed(step_model(small_llama()), 4);
  const auto allocated = [&](int layers) {
    const int before = fake::count("cuMemAlloc");
    bench(decode_step(model, layers), {{1, 100}}, false);
    return fake::count("cuMemAlloc") - before;
  };
  // Each further layer allocates its four matrices; norms and caches share an allocation.
  const int of_one = allocated(1);
  EXPECT_EQ(allocated(3) - of_one, 2 * 4);
}

TEST_F(StepBenchTest, AnOutputThatIsNotWrittenIsAnError) {
  const DecodeStep step = decode_step(narrowed(step_model(small_llama()), 4), 1);
  try {
    bench(step, {{1, 100}}, true);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "step.output");
    EXPECT_NE(std::string(error.what()).find("norm of decoder layer 0 left element (0, 0)"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(StepBenchTest, ABatchThatAKernelDoesNotTakeIsRefusedBeforeAnythingIsCompiled) {
  const DecodeStep step = decode_step(narrowed(step_model(small_llama()), 4), 1);
  try {
    bench(step, {{1, 100}, {5, 100}}, false);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "step.batch");
  }
  EXPECT_EQ(compilations_, 0);
}

// Experts, windows, soft caps, head norms, contiguous and paged caches, scales per channel, gated
// epilogues.
TEST_F(StepBenchTest, RunsModelsOfOtherKinds) {
  nlohmann::json gemma = small_llama();
  gemma.merge_patch(nlohmann::json::parse(R"({"model_type":"gemma3_text","head_dim":64,
    "torch_dtype":"bfloat16","query_pre_attn_scalar":64,"sliding_window":64,
    "layer_types":["sliding_attention","full_attention","full_attention"],
    "hidden_activation":"gelu_pytorch_tanh"})"));
  const Model models[] = {
      step_model(gemma, true,
                 R"({"k":{"dtype":"int8","granularity":"channel"},"v":{"dtype":"int8"}})"),
      step_model(gemma, false, R"({"dtype":"fp8_e4m3","layout":"contiguous","page_size":0})"),
      step_model(testing::small_mixtral()),
      step_model(testing::small_qwen3_moe(), true),
      step_model(testing::small_gpt_oss()),
  };
  for (const Model& model : models) {
    const DecodeStep step = decode_step(narrowed(model, 2), 2);
    const StepBenchReport report = bench(step, {{2, 99}}, false);
    EXPECT_GE(report.rows[0].us, static_cast<double>(step.launches.size()) - 1e-3);
  }
}

}  // namespace
}  // namespace heddle
