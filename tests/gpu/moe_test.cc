// Layers of experts on the GPU, against FP64. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "runtime/driver/context.h"
#include "tests/gpu/kernel_rotation.h"
#include "tests/gpu/operation_fixture.h"
#include "tests/plain_weight.h"
#include "tools/gpu_harness/device/cuda_graph.h"
#include "tools/gpu_harness/device/guarded_buffer.h"
#include "tools/gpu_harness/operations/moe/problem.h"

namespace heddle {
namespace {

class MoeOnGpu : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && target().arch() < 80) GTEST_SKIP() << "needs sm_80";
  }
  bool makes_kernels() const override { return true; }
};

MoeShape experts(std::int64_t hidden, std::int64_t intermediate, std::int64_t count,
                 std::int64_t top_k, std::int64_t tokens_max = 160) {
  return {.hidden = hidden,
          .intermediate = intermediate,
          .experts = count,
          .top_k = top_k,
          .tokens_max = tokens_max};
}

// Ends of rows and columns inside of tiles; one expert, few, many; all chosen by every token; some
// of them on another device.
std::vector<MoeShape> every_shape() {
  MoeShape shard = experts(256, 128, 160, 6);
  shard.first_expert = 40;
  shard.local_experts = 70;
  MoeShape shared = experts(256, 96, 24, 3);
  shared.shared_experts = 2;
  return {experts(512, 320, 16, 4),
          experts(160, 96, 5, 2),
          experts(2880, 320, 8, 1),
          experts(96, 544, 3, 3),
          experts(256, 128, 1, 1),
          experts(256, 128, 130, 8),
          shard,
          shared};
}

// For so many specs as have every pair of values one kernel each is made, all of them at the same
// time; then each one runs. The harness draws choices of every kind.
class MoeGpu : public MoeOnGpu {
 protected:
  // Both types take turns, and so does what surrounds the products.
  void add(const WeightSpec& gate_up, const WeightSpec& down) {
    const std::vector<MoeShape> shapes = every_shape();
    for (const MoeShape& shape : shapes) {
      const std::size_t turn = specs_.size();
      MoeSpec spec;
      spec.shape = shape;
      spec.activation = turn % 2 == 0 ? DType::kFp16 : DType::kBf16;
      spec.gate_up = gate_up;
      spec.down = down;
      constexpr Activation kActivations[] = {Activation::kSilu,  Activation::kGelu,
                                             Activation::kRelu2, Activation::kClampedSwiglu,
                                             Activation::kSitu,  Activation::kNone};
      spec.epilogue.activation = rotate(kActivations, turn + turn / 7);
      const bool clamped = spec.epilogue.activation == Activation::kClampedSwiglu;
      const bool situ = spec.epilogue.activation == Activation::kSitu;
      spec.epilogue.gated = clamped || situ || turn % 3 != 0;
      spec.epilogue.gate_limit = situ ? 4 : 0;
      const bool may_clamp = spec.epilogue.gated && spec.epilogue.activation == Activation::kSilu;
      spec.epilogue.limit = clamped || ((may_clamp || situ) && turn % 2 == 0) ? 2 : 0;
      spec.epilogue.bias = turn / 2 % 2 == 0;
      spec.epilogue.residual = turn % 5 < 2;
      if (turn % 4 == 1) spec.routing_weight = RoutingWeight::kInput;
      spec.act_order = turn % 6 == 4;
      spec.shared_gate = shape.shared_experts > 0 && turn / 3 % 2 == 0;
      for (WeightSpec* weight : {&spec.gate_up, &spec.down}) {
        if (!weight->has_scales()) *weight = plain_weight(spec.activation);
        if (weight->has_scales() && weight->scale_dtype == DType::kFp16) {
          weight->scale_dtype = spec.activation;
        }
      }
      specs_.push_back(Spec::from_moe(spec));
    }
  }
  void add(const WeightSpec& both) { add(both, both); }
  // Of small experts.
  void add_router(const MoeShape& shape, const RouterSpec& router) {
    MoeSpec spec;
    spec.shape = shape;
    spec.router = router;
    spec.activation = specs_.size() % 2 == 0 ? DType::kFp16 : DType::kBf16;
    spec.gate_up.group_size = spec.down.group_size = 32;
    spec.gate_up.scale_dtype = spec.down.scale_dtype = spec.activation;
    spec.epilogue = {.activation = Activation::kSilu, .gated = true};
    if (specs_.size() % 3 == 1) spec.routing_weight = RoutingWeight::kInput;
    specs_.push_back(Spec::from_moe(spec));
  }

  void TearDown() override {
    if (IsSkipped()) return;
    std::vector<Plan> plans;
    std::vector<std::vector<std::int64_t>> tokens;
    for (const Spec& spec : pairwise(specs_)) {
      const Plan plan = resolve(spec, target());
      for (Plan& one : rotation_.plans_of_one(plan, tokens_of(plan))) {
        tokens.push_back(served_by(one, tokens_of(plan)));
        plans.push_back(std::move(one));
      }
    }
    if (only_makes(plans)) return OnGpu::TearDown();
    make(plans);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Kernel kernel = runtime().load(plans[i]);
      for (const std::int64_t m : tokens[i]) {
        EXPECT_EQ(fault_of(kernel, {{m}, static_cast<std::uint32_t>(i)}), "")
            << plans[i].spec.canonical_json() << ", " << m << " tokens";
      }
    }
  }

 private:
  // Around the ends of what each kernel serves.
  static std::vector<std::int64_t> tokens_of(const Plan& plan) {
    std::vector<std::int64_t> tokens = {1, 33};
    for (const PlannedKernel& kernel : plan.kernels) {
      tokens.push_back(kernel.size_min);
      tokens.push_back(kernel.size_max);
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
  }

  std::vector<Spec> specs_;
  KernelRotation rotation_;
};

WeightSpec codes(WeightType type, int bits, int group, DType scale = DType::kFp16) {
  WeightSpec weight;
  weight.type = type;
  weight.bits = bits;
  weight.group_size = group;
  weight.scale_dtype = scale;
  return weight;
}

TEST_F(MoeGpu, Integers) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
      WeightSpec weight = codes(WeightType::kUint, bits, bits == 4 ? 32 : kPerChannel);
      weight.zero_point = zero;
      add(weight);
    }
  }
}

TEST_F(MoeGpu, Floats) {
  add(codes(WeightType::kE2m1, 4, 32, DType::kE8m0));
  WeightSpec nvfp4 = codes(WeightType::kE2m1, 4, 16, DType::kE4m3);
  nvfp4.tensor_scale = true;
  add(nvfp4);
  add(codes(WeightType::kE4m3, 8, kPerChannel, DType::kFp32));
  add(codes(WeightType::kE4m3, 8, 32));
  add(codes(WeightType::kNf4, 4, 32));
}

TEST_F(MoeGpu, SixteenBits) { add(plain_weight(DType::kFp16)); }

TEST_F(MoeGpu, TwoKinds) {
  add(codes(WeightType::kUint, 4, 32), codes(WeightType::kUint, 8, kPerChannel));
  add(codes(WeightType::kE2m1, 4, 32, DType::kE8m0), plain_weight(DType::kFp16));
  add(codes(WeightType::kUint, 3, kPerTensor), codes(WeightType::kE4m3, 8, kPerChannel));
}

// Every kind of router, of logits of every type: the harness also compares ids and weights.
TEST_F(MoeGpu, Routers) {
  using enum RouterScores;
  const RouterSpec routers[] = {
      {.scores = kSoftmax, .logits = DType::kBf16, .renormalize = true},
      {.scores = kSoftmax, .logits = DType::kFp16, .scaling_factor = 16},
      {.scores = kSigmoid, .renormalize = true, .scaling_factor = 2.5F, .correction_bias = true},
      {.scores = kSqrtSoftplus, .renormalize = true, .correction_bias = true},
      {.scores = kSigmoid, .logits = DType::kBf16, .expert_scales = true},
      {.scores = kSoftmax, .renormalize = true, .correction_bias = true}};
  const MoeShape shapes[] = {experts(160, 96, 5, 2), experts(256, 128, 1, 1),
                             experts(256, 128, 130, 8), experts(128, 64, 33, 32),
                             experts(128, 64, 1024, 22)};
  for (const RouterSpec& router : routers) {
    for (const MoeShape& shape : shapes) add_router(shape, router);
  }
  for (const GroupScore score : {GroupScore::kMax, GroupScore::kTopTwo}) {
    for (const bool bias : {false, true}) {
      RouterSpec router{.scores = kSigmoid, .renormalize = true, .correction_bias = bias};
      router.group_score = score;
      router.groups = 8;
      router.top_groups = 3;
      MoeShape shard = experts(128, 64, 160, 6);
      shard.first_expert = 40;
      shard.local_experts = 70;
      add_router(shard, router);
      router.groups = 5;  // their ends are inside of a lane's experts
      add_router(experts(128, 64, 75, 7), router);
    }
  }
}

// A layer of one plan whose launches are compared with each other.
class MoeBits : public MoeOnGpu {
 protected:
  static Spec layer(std::int64_t tokens_max, const RouterSpec& router = {}) {
    MoeSpec spec;
    spec.shape = experts(512, 256, 24, 4, tokens_max);
    spec.router = router;
    spec.gate_up.group_size = spec.down.group_size = 32;
    spec.epilogue = {
        .bias = true, .activation = Activation::kSilu, .residual = true, .gated = true};
    return Spec::from_moe(spec);
  }

  // What launches read and write of some tokens.
  struct Data {
    Data(const MoeKernel& kernel, const MoeProblem& problem, const OwnedStream& stream)
        : x(to_device(problem.x, stream)),
          choices(kernel.plan().spec.moe(), problem.choices, stream),
          gate_up_bias(to_device(problem.gate_up_bias, stream)),
          down_bias(to_device(problem.down_bias, stream)),
          residual(to_device(problem.residual, stream)),
          y(x.bytes()),
          workspace(kernel.workspace_bytes(problem.tokens)) {
      y.fill(0xFF, stream);
      workspace.fill(0, stream);
    }

    MoeArgs args(const MoeWeights& weights, std::int64_t tokens) const {
      MoeArgs args;
      args.x = x.memory();
      args.gate_up = weights.gate_up();
      args.down = weights.down();
      choices.give(&args);
      args.gate_up_bias = gate_up_bias.memory();
      args.down_bias = down_bias.memory();
      args.residual = residual.memory();
      args.y = y.memory();
      args.workspace = workspace.memory();
      args.tokens = tokens;
      return args;
    }
    std::vector<std::uint16_t> result(std::size_t elements, const OwnedStream& stream) const {
      std::vector<std::uint16_t> values(elements);
      y.download(values.data(), 0, 2 * elements, stream);
      return values;
    }

    DeviceBuffer x;
    DeviceChoices choices;
    DeviceBuffer gate_up_bias, down_bias, residual, y, workspace;
  };

  // Replays of one graph, with other choices or logits each, against launches.
  void expect_graphs_of(const Spec& layer, std::int64_t tokens) {
    const cuda::CurrentContext context;
    const OwnedStream stream;
    const auto kernel = runtime().kernel<MoeKernel>(layer);
    const MoeSpec& spec = kernel.plan().spec.moe();
    const MoeWeights weights(spec, 1, stream);
    const MoeProblem problem = make_moe_problem(spec, tokens, Routing::kUniform, 1);
    Data replayed(kernel, problem, stream);
    stream.synchronize();
    const OwnedGraph graph(
        stream, 1, [&](int) { kernel.launch(replayed.args(weights, tokens), stream.get()); });
    for (const Routing routing : {Routing::kUniform, Routing::kSkewed, Routing::kOne}) {
      MoeProblem other = problem;
      other.choices = random_choices(spec, tokens, routing, 7);
      const Data launched(kernel, other, stream);
      kernel.launch(launched.args(weights, tokens), stream.get());
      const std::vector<std::uint16_t> expected = launched.result(problem.x.size(), stream);
      replayed.choices.upload(other.choices, stream);
      graph.replay(stream);
      EXPECT_EQ(replayed.result(problem.x.size(), stream), expected);
    }
  }
};

// Within what one kernel serves a token has the same bits, whatever is launched with it.
TEST_F(MoeBits, OfATokenDoNotDependOnTheOthers) {
  const std::vector<Spec> specs = {layer(600)};
  if (only_makes(specs)) return;
  const cuda::CurrentContext context;
  const OwnedStream stream;
  const auto kernel = runtime().kernel<MoeKernel>(specs[0]);
  const MoeSpec& spec = kernel.plan().spec.moe();
  const MoeWeights weights(spec, 1, stream);
  int compared = 0;
  for (const PlannedKernel& planned : kernel.plan().kernels) {
    if (planned.size_min == planned.size_max) continue;
    const MoeProblem most = make_moe_problem(spec, planned.size_max, Routing::kSkewed, 1);
    const Data data(kernel, most, stream);
    const auto first = static_cast<std::size_t>(planned.size_min * spec.shape.hidden);
    kernel.launch(data.args(weights, planned.size_max), stream.get());
    const std::vector<std::uint16_t> of_many = data.result(first, stream);
    kernel.launch(data.args(weights, planned.size_min), stream.get());
    EXPECT_EQ(data.result(first, stream), of_many) << planned.name;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// A graph serves every choice of experts, and all logits: it is captured once.
TEST_F(MoeBits, OfAGraphAreThoseOfLaunches) {
  constexpr std::int64_t kTokens = 37;
  const std::vector<Spec> specs = {
      layer(kTokens), layer(kTokens, {.scores = RouterScores::kSoftmax, .renormalize = true})};
  if (only_makes(specs)) return;
  for (const Spec& spec : specs) expect_graphs_of(spec, kTokens);
}

}  // namespace
}  // namespace heddle
