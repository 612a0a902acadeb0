// examples/decoder as it is, on the fake driver, whose launches run the kernels on the CPU: tokens
// and logits of two small models against FP32.
#include <cstring>

#include "runtime/launch/decode_attention_launch.h"
#include "tests/decoder/emulated_kernels.h"
#include "tests/decoder/fake_decoder.h"
#include "tests/decoder/fake_sums.h"
#include "tests/decoder/follow_reference.h"
#include "tests/decoder/two_ranks.h"
#include "tests/emulator/device.h"
#include "tests/emulator/machine.h"

namespace heddle::testing {
namespace {

template <class T>
T argument(void** parameters, int index) {
  T value;
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

class EmulatedDecoder : public FakeDecoder {
 protected:
  void SetUp() override {
    FakeDecoder::SetUp();
    if (IsSkipped()) return;
    plans_ = decoder_plans();
    emulate();
  }
  void emulate() {
    fake::state().allocate = [this](std::size_t bytes) {
      return memory_.allocate(bytes, emulator::Access::kWrite);
    };
    fake::state().work_of = [this](const fake::Launch& launch, void** parameters) {
      return work_of(launch, parameters);
    };
  }

  void expect_reference(const SmallModel& small, double most_error) {
    const ::Model model = open(small, "int8:head", 3);
    Decoder decoder(runtime(), model, 32, stream_->get());
    expect_reference(decoder, small, most_error);
  }
  // Greedy tokens of the ragged prompts, step by step.
  template <typename AnyDecoder>
  void expect_reference(AnyDecoder& decoder, const SmallModel& small, double most_error) {
    const std::vector<std::vector<int>> prompts = ragged_prompts();
    const Greedy expected = reference_greedy(small.plain, prompts, kSureSteps);
    const auto check = [&](std::size_t step, std::size_t s, const std::vector<float>& got) {
      const double error = relative_error(got, expected.logits[step][s]);
      EXPECT_LT(error, most_error) << "step " << step << ", sequence " << s;
      worst_ = std::max(worst_, error);
      EXPECT_EQ(argmax(got.data(), got.size()), expected.tokens[step][s])
          << "step " << step << ", sequence " << s;
    };
    follow_reference(decoder, prompts, expected, check);
    EXPECT_TRUE(memory_.guards_intact());
    RecordProperty("worst_relative_error", std::to_string(worst_));
  }

 private:
  // The index of the first, or last, plan with a kernel of this name.
  static int index_of(const std::vector<Plan>& plans, const std::string& name, bool last) {
    int found = -1;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (plans[i].kernels.front().name != name) continue;
      if (found < 0 || last) found = static_cast<int>(i);
    }
    return found;
  }

  fake::Work work_of(const fake::Launch& launch, void** parameters) {
    const cuda::CUlaunchConfig& config = launch.config;
    emulator::Launch grid;
    grid.grid_x = static_cast<int>(config.gridDimX);
    grid.grid_y = static_cast<int>(config.gridDimY);
    grid.blocks = static_cast<int>(config.gridDimX * config.gridDimY * config.gridDimZ);
    grid.threads = static_cast<int>(config.blockDimX);
    grid.shared_bytes = static_cast<int>(config.sharedMemBytes);
    const auto run = [&](const std::function<void()>& kernel) -> fake::Work {
      return [this, grid, kernel] {
        emulator::run(grid, memory_, [&] {
          emulator::predecessor_has_ended();  // kernels of this GPU never start before
          kernel();
        });
      };
    };
    if (const int i = index_of(plans_.tiles, launch.kernel, false); i >= 0) {
      using In = const unsigned char*;
      using Out = unsigned char*;
      return run([kernel = decoder_tiles_kernels[static_cast<std::size_t>(i)],
                  x = argument<In>(parameters, 0), weights = argument<In>(parameters, 1),
                  y = argument<Out>(parameters, 2), bias = argument<In>(parameters, 3),
                  residual = argument<In>(parameters, 4), scale = argument<In>(parameters, 5),
                  workspace = argument<Out>(parameters, 6), m = argument<int>(parameters, 7)] {
        kernel(x, weights, y, bias, residual, scale, workspace, m);
      });
    }
    // Both kernels of attention have one name, and only that for one token is captured.
    if (const int i = index_of(plans_.attention, launch.kernel, !launch.captured); i >= 0) {
      grid.together = true;
      return run([kernel = decoder_attention_kernels[static_cast<std::size_t>(i)],
                  p = argument<AttentionParameters>(parameters, 0)] { kernel(p); });
    }
    if (const int i = index_of(plans_.append, launch.kernel, false); i >= 0) {
      return run([kernel = decoder_append_kernels[static_cast<std::size_t>(i)],
                  p = argument<KvAppendParameters>(parameters, 0)] { kernel(p); });
    }
    if (const int i = index_of(plans_.rows, launch.kernel, false); i >= 0) {
      return run([kernel = decoder_rows_kernels[static_cast<std::size_t>(i)],
                  p = argument<RowTransformParameters>(parameters, 0)] { kernel(p); });
    }
    throw std::logic_error(launch.kernel + " was not compiled for the CPU");
  }

  DecoderPlans plans_;
  emulator::GlobalMemory memory_;
  double worst_ = 0;
};

TEST_F(EmulatedDecoder, LlamaIsTheReference) { expect_reference(small_llama(), 0.02); }

TEST_F(EmulatedDecoder, TwoRanksAreTheReference) {
  take_emulated_gpus(2);
  emulate();
  const SmallModel small = small_llama();
  small.write(folder_);
  FakeSums sums(kBinary16);
  TwoRanks ranks(folder_.path(), "int8:head", 3);
  ranks.load(runtime(), 32, [&](int rank) { return sums.of(rank); });
  expect_reference(ranks, small, 0.02);
}

TEST_F(EmulatedDecoder, Qwen3IsTheReference) { expect_reference(small_qwen3(false), 0.04); }

}  // namespace
}  // namespace heddle::testing
