// examples/decoder as it is, on the fake driver, whose launches run the kernels on the CPU: tokens
// and logits of small models against FP32.
#include <cstring>
#include <set>

#include "runtime/launch/decode_attention_launch.h"
#include "runtime/launch/moe_launch.h"
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
    launches_are_of(model);
    Decoder decoder(runtime(), model, 32, stream_->get());
    expect_reference(decoder, small, most_error);
  }
  void expect_reference_of_ranks(const SmallModel& small, const Float16Format& format,
                                 double most_error) {
    take_emulated_gpus(2);
    emulate();
    small.write(folder_);
    FakeSums sums(format);
    TwoRanks ranks(folder_.path(), "int8:head", 3);
    for (int rank = 0; rank < 2; ++rank) launches_are_of(ranks.model(rank));
    ranks.load(runtime(), 32, [&](int rank) { return sums.of(rank); });
    expect_reference(ranks, small, most_error);
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

  // Of a model of which all that follow are, or of one of two ranks.
  void launches_are_of(const ::Model& model) {
    model_ = &model;
    appended_ = 0;
    for (const Spec& spec : model.specs()) specs_.insert(spec.canonical_json());
  }

 private:
  // The index of the model's plan with a kernel of this name.
  int index_of(const std::vector<Plan>& plans, const std::string& name) const {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (plans[i].kernels.front().name == name && specs_.count(plans[i].spec.canonical_json())) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }
  // Kernels of attention with and without a window, for one token and for a chunk, have one name.
  // Every layer appends to its cache first, and only steps are captured.
  static std::size_t index_of(const std::vector<Plan>& plans, const Spec& spec) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (plans[i].spec.canonical_json() == spec.canonical_json()) return i;
    }
    throw std::logic_error("a kernel of attention was not compiled for the CPU");
  }
  const Attention& attention_of_layer() const {
    return model_->attention((appended_ - 1) % model_->layers);
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
    if (const int i = index_of(plans_.tiles, launch.kernel); i >= 0) {
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
    if (index_of(plans_.attention, launch.kernel) >= 0) {
      const Attention& attention = attention_of_layer();
      const Spec& spec = launch.captured ? attention.attend : attention.attend_chunk;
      grid.together = true;
      return run([kernel = decoder_attention_kernels[index_of(plans_.attention, spec)],
                  p = argument<AttentionParameters>(parameters, 0)] { kernel(p); });
    }
    if (const int i = index_of(plans_.append, launch.kernel); i >= 0) {
      ++appended_;
      return run([kernel = decoder_append_kernels[static_cast<std::size_t>(i)],
                  p = argument<KvAppendParameters>(parameters, 0)] { kernel(p); });
    }
    if (const int i = index_of(plans_.rows, launch.kernel); i >= 0) {
      return run([kernel = decoder_rows_kernels[static_cast<std::size_t>(i)],
                  p = argument<RowTransformParameters>(parameters, 0)] { kernel(p); });
    }
    for (const auto& [plans, kernels] :
         {std::pair(&plans_.experts, &decoder_experts_kernels),
          std::pair(&plans_.few_experts, &decoder_few_experts_kernels)}) {
      const int i = index_of(*plans, launch.kernel);
      if (i < 0) continue;
      return run([kernel = (*kernels)[static_cast<std::size_t>(i)],
                  p = argument<MoeParameters>(parameters, 0),
                  schedule = argument<int>(parameters, 1)] { kernel(p, schedule); });
    }
    throw std::logic_error(launch.kernel + " was not compiled for the CPU");
  }

  DecoderPlans plans_;
  emulator::GlobalMemory memory_;
  const ::Model* model_ = nullptr;
  std::set<std::string> specs_;
  // Layers whose keys and values are in the cache. Each rank has threads of its own.
  inline static thread_local int appended_ = 0;
  double worst_ = 0;
};

TEST_F(EmulatedDecoder, LlamaIsTheReference) { expect_reference(small_llama(), 0.02); }

TEST_F(EmulatedDecoder, TwoRanksAreTheReference) {
  expect_reference_of_ranks(small_llama(), kBinary16, 0.02);
}

// Each rank has sinks of its own heads, and one of them the biases of what is split along K.
TEST_F(EmulatedDecoder, TwoRanksOfGptOssAreTheReference) {
  expect_reference_of_ranks(small_gpt_oss(), kBfloat16, 0.04);
}

TEST_F(EmulatedDecoder, Qwen3IsTheReference) { expect_reference(small_qwen3(false), 0.04); }

TEST_F(EmulatedDecoder, MixtralIsTheReference) { expect_reference(small_mixtral(), 0.02); }
TEST_F(EmulatedDecoder, MixtralInActOrderIsTheReference) {
  expect_reference(small_mixtral(true), 0.02);
}
TEST_F(EmulatedDecoder, Qwen3MoeIsTheReference) { expect_reference(small_qwen3_moe(), 0.04); }
TEST_F(EmulatedDecoder, GptOssIsTheReference) { expect_reference(small_gpt_oss(), 0.04); }

}  // namespace
}  // namespace heddle::testing
