// Batch-invariant layers of experts: a token has the same bits of Y whatever is launched with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "heddle/operations.h"
#include "tests/expert_layer.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/primary_context.h"
#include "tools/gpu_harness/numbers/as_size.h"
#include "tools/gpu_harness/operations/moe/problem.h"

namespace heddle {
namespace {

constexpr std::int64_t kMost = 1000;
constexpr std::int64_t kSizes[] = {1, 3, 8, 9, 17, 33, 64, 130, 257, 600, 999};

// The choices of the first tokens.
RouterChoices first_of(const MoeSpec& spec, const RouterChoices& all, std::int64_t tokens) {
  const auto first = [&](const auto& values, std::int64_t of_token) {
    if (values.empty()) return values;
    return std::decay_t<decltype(values)>(values.begin(), values.begin() + tokens * of_token);
  };
  return {first(all.ids, spec.shape.top_k), first(all.weights, spec.shape.top_k),
          first(all.logits, spec.shape.experts * bytes_of(spec.router.logits)),
          first(all.shared_gates, 1)};
}

class BatchInvariantMoeGpu : public OnGpu {
 protected:
  bool makes_kernels() const override { return true; }

  void expect_invariant(const std::vector<MoeSpec>& layers) {
    std::vector<Spec> specs;
    for (MoeSpec layer : layers) {
      layer.shape.tokens_max = kMost;
      layer.batch_invariant = true;
      specs.push_back(Spec::from_moe(layer));
    }
    if (only_makes(specs)) return;
    make(specs);
    const PrimaryContext context;
    for (const Spec& spec : specs) expect_same_bits(spec);
  }

 private:
  static void expect_same_bits(const Spec& layer) {
    const MoeSpec& spec = layer.moe();
    const auto kernel = runtime().kernel<MoeKernel>(layer);
    const OwnedStream stream;
    const MoeWeights weights(spec, 1, stream);
    const MoeProblem problem = make_moe_problem(spec, kMost, Routing::kSkewed, 2);
    const DeviceBuffer x = to_device(problem.x, stream);
    const DeviceBuffer permutation = to_device(problem.permutation, stream);
    const auto bits_of = [&](std::int64_t tokens) {
      const DeviceChoices choices(spec, first_of(spec, problem.choices, tokens), stream);
      DeviceBuffer y(as_size(2 * tokens * spec.shape.hidden));
      DeviceBuffer workspace(kernel.workspace_bytes(tokens));
      y.fill(0xFF, stream);
      workspace.fill(0, stream);
      MoeArgs args;
      args.x = x.memory();
      args.gate_up = weights.gate_up();
      args.down = weights.down();
      choices.give(&args);
      args.permutation = permutation.memory();
      args.y = y.memory();
      args.workspace = workspace.memory();
      args.tokens = tokens;
      kernel.launch(args, stream.get());
      std::vector<std::uint16_t> bits(y.bytes() / 2);
      y.download(bits.data(), 0, y.bytes(), stream);
      return bits;
    };
    const std::vector<std::uint16_t> all = bits_of(kMost);
    for (const std::int64_t tokens : kSizes) {
      const std::vector<std::uint16_t> some = bits_of(tokens);
      ASSERT_LT(some.size(), all.size());
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()))
          << layer.canonical_json() << ", " << tokens << " tokens";
    }
  }
};

TEST_F(BatchInvariantMoeGpu, GivenAndFoundChoices) {
  const WeightSpec four = {.bits = 4, .group_size = 32};
  MoeSpec given = expert_layer({.hidden = 512, .intermediate = 320, .experts = 16, .top_k = 4},
                               DType::kFp16, four);
  MoeSpec routed = expert_layer({.hidden = 768, .intermediate = 256, .experts = 64, .top_k = 6},
                                DType::kFp16, four);
  routed.router = {.scores = RouterScores::kSoftmax, .renormalize = true};
  MoeSpec ordered = given;
  ordered.act_order = true;
  MoeSpec shared = given;
  shared.shape.shared_experts = 1;
  shared.shared_gate = true;
  expect_invariant({given, routed, ordered, shared});
}

TEST_F(BatchInvariantMoeGpu, FloatsOfFourBits) {
  MoeSpec mxfp4 = expert_layer({.hidden = 512, .intermediate = 512, .experts = 8, .top_k = 2},
                               DType::kBf16, {.bits = 4, .group_size = 32});
  make_gpt_oss(7, &mxfp4);
  mxfp4.epilogue.bias = false;
  expect_invariant({mxfp4});
}

}  // namespace
}  // namespace heddle
