// Which arguments a launch of a layer of experts takes, and what of them the kernel gets.
#include "runtime/launch/moe_launch.h"

#include <gtest/gtest.h>

#include <functional>

#include "experts/router.h"
#include "heddle/weights.h"
#include "tests/runtime/launch/launch_refusals.h"
#include "tests/runtime/launch_size_checks.h"

namespace heddle {
namespace {

using testing::expect_each_is_needed;

// The last 6 of 8 experts. `everything`: with biases and a residual.
Plan layer_plan(bool everything) {
  MoeSpec spec;
  spec.shape = {.hidden = 256,
                .intermediate = 128,
                .experts = 8,
                .top_k = 2,
                .tokens_min = 2,
                .tokens_max = 100,
                .first_expert = 2};
  spec.epilogue = {
      .bias = everything, .activation = Activation::kSilu, .residual = everything, .gated = true};
  return resolve(Spec::from_moe(spec), target_from_name("h200"));
}

const Plan& full_layer() {
  static const Plan plan = layer_plan(true);
  return plan;
}

MoeArgs plain_args() {
  MoeArgs args;
  args.x = memory(0x10000000);
  args.gate_up = memory(0x20000000);
  args.down = memory(0x30000000);
  args.ids = memory(0x40000004);
  args.weights = memory(0x50000008);
  args.y = memory(0x60000000);
  args.workspace = memory(0xa0000000);
  args.tokens = 3;
  return args;
}

// Of a layer that chooses experts by BF16 logits, with all that a router may have.
const Plan& choosing_layer() {
  static const Plan plan = [] {
    MoeSpec spec;
    spec.shape = {.hidden = 256, .intermediate = 128, .experts = 8, .top_k = 2, .tokens_max = 100};
    spec.router = {.scores = RouterScores::kSigmoid,
                   .logits = DType::kBf16,
                   .correction_bias = true,
                   .expert_scales = true};
    return resolve(Spec::from_moe(spec), target_from_name("h200"));
  }();
  return plan;
}

MoeArgs choosing_args() {
  MoeArgs args = plain_args();
  args.ids = args.weights = {};
  args.logits = memory(0x40000002);
  args.correction_bias = memory(0x50000004);
  args.expert_scales = memory(0x58000004);
  return args;
}

MoeArgs full_args() {
  MoeArgs args = plain_args();
  args.gate_up_bias = memory(0x70000000);
  args.down_bias = memory(0x80000000);
  args.residual = memory(0x90000000);
  return args;
}

std::string layer_refusal(const Plan& plan, const MoeArgs& args) {
  const bool served = args.tokens >= 2 && args.tokens <= 100;
  const std::size_t workspace = served ? plan.workspace_bytes(args.tokens) : 0;
  return code_thrown_by([&] { validate(plan, workspace, args); });
}

std::string of_layer(const std::function<void(MoeArgs&)>& change) {
  MoeArgs args = full_args();
  change(args);
  return layer_refusal(full_layer(), args);
}

TEST(MoeLaunch, WantsItsPointers) {
  EXPECT_EQ(of_layer([](auto&) {}), "");
  const auto inputs = {&MoeArgs::x,         &MoeArgs::gate_up, &MoeArgs::down,
                       &MoeArgs::ids,       &MoeArgs::weights, &MoeArgs::gate_up_bias,
                       &MoeArgs::down_bias, &MoeArgs::residual};
  for (DeviceInput MoeArgs::*const input : inputs) {
    EXPECT_EQ(of_layer([&](auto& a) { a.*input = {}; }), "launch.missing");
    const bool is_of_words = input == &MoeArgs::ids || input == &MoeArgs::weights;
    EXPECT_EQ(of_layer([&](auto& a) { a.*input = memory(0xb0000002); }), "launch.misaligned");
    EXPECT_EQ(of_layer([&](auto& a) { a.*input = memory(0xb0000004); }),
              is_of_words ? "" : "launch.misaligned");
  }
  for (DeviceOutput MoeArgs::*const output : {&MoeArgs::y, &MoeArgs::workspace}) {
    EXPECT_EQ(of_layer([&](auto& a) { a.*output = {}; }), "launch.missing");
    EXPECT_EQ(of_layer([&](auto& a) { a.*output = memory(0xb0000008); }), "launch.misaligned");
  }
  const Plan plain = layer_plan(false);
  EXPECT_EQ(layer_refusal(plain, plain_args()), "");
  for (DeviceInput MoeArgs::*const input :
       {&MoeArgs::gate_up_bias, &MoeArgs::down_bias, &MoeArgs::residual}) {
    MoeArgs args = plain_args();
    args.*input = memory(0xb0000000);
    EXPECT_EQ(layer_refusal(plain, args), "launch.unexpected");
  }
}

TEST(MoeLaunch, WantsLogitsOrChoices) {
  const auto refused = [](const std::function<void(MoeArgs&)>& change) {
    MoeArgs args = choosing_args();
    change(args);
    return layer_refusal(choosing_layer(), args);
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  for (DeviceInput MoeArgs::*const input :
       {&MoeArgs::logits, &MoeArgs::correction_bias, &MoeArgs::expert_scales}) {
    EXPECT_EQ(refused([&](auto& a) { a.*input = {}; }), "launch.missing");
    EXPECT_EQ(refused([&](auto& a) { a.*input = memory(0xb0000001); }), "launch.misaligned");
    EXPECT_EQ(refused([&](auto& a) { a.*input = memory(0xb0000002); }),
              input == &MoeArgs::logits ? "" : "launch.misaligned");
    // Of a layer that is given a choice.
    EXPECT_EQ(of_layer([&](auto& a) { a.*input = memory(0xb0000000); }), "launch.unexpected");
  }
  for (DeviceInput MoeArgs::*const input : {&MoeArgs::ids, &MoeArgs::weights}) {
    EXPECT_EQ(refused([&](auto& a) { a.*input = memory(0xb0000000); }), "launch.unexpected");
  }
  for (DeviceOutput MoeArgs::*const output : {&MoeArgs::chosen_ids, &MoeArgs::chosen_weights}) {
    EXPECT_EQ(refused([&](auto& a) { a.*output = memory(0xb0000004); }), "");
    EXPECT_EQ(refused([&](auto& a) { a.*output = memory(0xb0000002); }), "launch.misaligned");
    EXPECT_EQ(of_layer([&](auto& a) { a.*output = memory(0xb0000004); }), "launch.unexpected");
  }
}

// Weights of a shard's own experts and of the shared ones; a number for each token.
TEST(MoeLaunch, WantsWhatSharedExpertsHave) {
  MoeSpec spec;
  spec.shape = {.hidden = 256,
                .intermediate = 128,
                .experts = 8,
                .top_k = 2,
                .tokens_max = 100,
                .local_experts = 3,
                .shared_experts = 2};
  spec.shared_gate = true;
  const Plan plan = resolve(Spec::from_moe(spec), target_from_name("h200"));
  MoeArgs args = plain_args();
  EXPECT_EQ(layer_refusal(plan, args), "launch.missing");
  args.shared_gates = memory(0xb0000002);
  EXPECT_EQ(layer_refusal(plan, args), "launch.misaligned");
  args.shared_gates = memory(0x60000004);
  EXPECT_EQ(layer_refusal(plan, args), "launch.overlap");
  args.shared_gates = memory(0xb0000004, 3 * 4);
  EXPECT_EQ(layer_refusal(plan, args), "");
  EXPECT_EQ(moe_parameters(spec, args).shared_gates, args.shared_gates.data);
  const MoeGemms gemms = moe_gemms(spec);
  args.gate_up.bytes = 5 * weight_layout(gemms.gate_up).total_bytes;
  args.down.bytes = 5 * weight_layout(gemms.down).total_bytes;
  expect_each_is_needed([&] { validate(plan, plan.workspace_bytes(3), args); },
                        {{"shared_gates", &args.shared_gates.bytes},
                         {"gate_up", &args.gate_up.bytes},
                         {"down", &args.down.bytes}});
  EXPECT_EQ(of_layer([&](auto& a) { a.shared_gates = memory(0xb0000004); }), "launch.unexpected");
}

TEST(MoeLaunch, WantsAPermutationOfEachExpert) {
  MoeSpec spec;
  spec.shape = {.hidden = 256, .intermediate = 128, .experts = 8, .top_k = 2, .tokens_max = 100};
  spec.act_order = true;
  const Plan plan = resolve(Spec::from_moe(spec), target_from_name("h200"));
  MoeArgs args = plain_args();
  EXPECT_EQ(layer_refusal(plan, args), "launch.missing");
  args.permutation = memory(0xb0000008);
  EXPECT_EQ(layer_refusal(plan, args), "launch.misaligned");
  args.permutation = memory(0x60000000);
  EXPECT_EQ(layer_refusal(plan, args), "launch.overlap");
  args.permutation = memory(0xb0000000, 8 * 256 * 4);
  EXPECT_EQ(layer_refusal(plan, args), "");
  EXPECT_EQ(moe_parameters(spec, args).permutation, args.permutation.data);
  expect_each_is_needed([&] { validate(plan, plan.workspace_bytes(3), args); },
                        {{"permutation", &args.permutation.bytes}});
  EXPECT_EQ(of_layer([&](auto& a) { a.permutation = memory(0xb0000000); }), "launch.unexpected");
}

TEST(MoeLaunch, WantsAllBytesOfAChoice) {
  const Plan& plan = choosing_layer();
  MoeArgs args = choosing_args();
  args.logits.bytes = 3 * 8 * 2;
  args.correction_bias.bytes = args.expert_scales.bytes = 8 * 4;
  args.chosen_ids = memory(0xb0000000, 3 * 2 * 4);
  args.chosen_weights = memory(0xb1000000, 3 * 2 * 4);
  const std::size_t workspace = plan.workspace_bytes(3);
  expect_each_is_needed([&] { validate(plan, workspace, args); },
                        {{"logits", &args.logits.bytes},
                         {"correction_bias", &args.correction_bias.bytes},
                         {"expert_scales", &args.expert_scales.bytes},
                         {"chosen_ids", &args.chosen_ids.bytes},
                         {"chosen_weights", &args.chosen_weights.bytes}});
}

// All that is written has a place of its own.
TEST(MoeLaunch, KeepsChoicesApart) {
  const auto refused = [](const std::function<void(MoeArgs&)>& change) {
    MoeArgs args = choosing_args();
    args.chosen_ids = memory(0xb0000000);
    args.chosen_weights = memory(0xb0000000 + 3 * 2 * 4);
    change(args);
    return layer_refusal(choosing_layer(), args);
  };
  EXPECT_EQ(refused([](auto&) {}), "") << "one behind the other";
  EXPECT_EQ(refused([](auto& a) { a.chosen_weights = memory(0xb0000014); }), "launch.overlap");
  for (DeviceOutput MoeArgs::*const output : {&MoeArgs::chosen_ids, &MoeArgs::chosen_weights}) {
    EXPECT_EQ(refused([&](auto& a) { a.*output = memory(0xa0000100); }), "launch.overlap");
    EXPECT_EQ(refused([&](auto& a) { a.*output = memory(0x60000004); }), "launch.overlap");
    EXPECT_EQ(refused([&](auto& a) { a.*output = memory(0x10000004); }), "launch.overlap");
    for (DeviceInput MoeArgs::*const input :
         {&MoeArgs::logits, &MoeArgs::correction_bias, &MoeArgs::expert_scales}) {
      EXPECT_EQ(refused([&](auto& a) { a.*input = a.*output; }), "launch.overlap");
    }
  }
  for (DeviceInput MoeArgs::*const input :
       {&MoeArgs::logits, &MoeArgs::correction_bias, &MoeArgs::expert_scales}) {
    EXPECT_EQ(refused([&](auto& a) { a.*input = memory(0x60000000); }), "launch.overlap");
    EXPECT_EQ(refused([&](auto& a) { a.*input = memory(0xa0000100); }), "launch.overlap");
  }
}

// The launches behind the choice find it where it is written: at its caller's, or in the workspace.
TEST(MoeLaunch, GivesTheKernelThePlaceOfItsChoice) {
  const MoeSpec& spec = choosing_layer().spec.moe();
  MoeArgs args = choosing_args();
  const MoeParameters kept = moe_parameters(spec, args);
  EXPECT_EQ(kept.logits, args.logits.data);
  EXPECT_EQ(kept.correction_bias, args.correction_bias.data);
  EXPECT_EQ(kept.expert_scales, args.expert_scales.data);
  const auto* const workspace = static_cast<const unsigned char*>(args.workspace.data);
  EXPECT_EQ(reinterpret_cast<const unsigned char*>(kept.ids),
            workspace + device::RouterConfig::ids_offset());
  EXPECT_EQ(reinterpret_cast<const unsigned char*>(kept.routing_weights),
            workspace + device::RouterConfig::weights_offset(3 * 2));
  EXPECT_EQ(kept.chosen_ids, kept.ids);
  EXPECT_EQ(kept.chosen_weights, kept.routing_weights);
  args.chosen_ids = memory(0xb0000000);
  args.chosen_weights = memory(0xb1000000);
  const MoeParameters told = moe_parameters(spec, args);
  EXPECT_EQ(told.ids, args.chosen_ids.data);
  EXPECT_EQ(told.chosen_ids, args.chosen_ids.data);
  EXPECT_EQ(told.routing_weights, args.chosen_weights.data);
  EXPECT_EQ(told.chosen_weights, args.chosen_weights.data);
}

TEST(MoeLaunch, WantsTokensThatAreServed) {
  for (const std::int64_t tokens : {-1, 1, 101}) {
    EXPECT_EQ(of_layer([&](auto& a) { a.tokens = tokens; }), "launch.m") << tokens;
  }
  for (const std::int64_t tokens : {2, 100}) {
    EXPECT_EQ(of_layer([&](auto& a) { a.tokens = tokens; }), "") << tokens;
  }
  EXPECT_EQ(of_layer([](auto& a) { a.tokens = 0; }), "") << "nothing is launched";
  EXPECT_EQ(of_layer([](auto& a) { a = {}; }), "") << "of empty tensors neither";
}

TEST(MoeLaunch, WantsAllBytes) {
  const Plan& plan = full_layer();
  const MoeGemms gemms = moe_gemms(plan.spec.moe());
  MoeArgs args = full_args();
  args.x.bytes = args.y.bytes = args.residual.bytes = 3 * 256 * 2;
  args.ids.bytes = args.weights.bytes = 3 * 2 * 4;
  args.gate_up.bytes = 6 * weight_layout(gemms.gate_up).total_bytes;
  args.down.bytes = 6 * weight_layout(gemms.down).total_bytes;
  args.gate_up_bias.bytes = 6 * 2 * 128 * 2;
  args.down_bias.bytes = 6 * 256 * 2;
  const std::size_t workspace = plan.workspace_bytes(3);
  args.workspace.bytes = workspace;
  expect_each_is_needed([&] { validate(plan, workspace, args); },
                        {{"x", &args.x.bytes},
                         {"gate_up", &args.gate_up.bytes},
                         {"down", &args.down.bytes},
                         {"ids", &args.ids.bytes},
                         {"weights", &args.weights.bytes},
                         {"y", &args.y.bytes},
                         {"gate_up_bias", &args.gate_up_bias.bytes},
                         {"down_bias", &args.down_bias.bytes},
                         {"residual", &args.residual.bytes}});
  --args.workspace.bytes;
  EXPECT_EQ(layer_refusal(plan, args), "launch.workspace");
}

TEST(MoeLaunch, SaysWhatMayBeInOnePlace) {
  EXPECT_EQ(of_layer([](auto& a) { a.y = memory(0x10000000); }), "") << "Y may be X";
  EXPECT_EQ(of_layer([](auto& a) { a.y = memory(0x90000000); }), "") << "or the residual";
  EXPECT_EQ(of_layer([](auto& a) { a.residual = a.x; }), "") << "both are read alone";
  EXPECT_EQ(of_layer([](auto& a) { a.y = memory(0x10000010); }), "launch.overlap");
  EXPECT_EQ(of_layer([](auto& a) { a.y = memory(0x90000010); }), "launch.overlap");
  // Behind three rows of 512 bytes.
  EXPECT_EQ(of_layer([](auto& a) { a.y = memory(0x90000000 + 3 * 512); }), "");
  for (DeviceInput MoeArgs::*const input :
       {&MoeArgs::ids, &MoeArgs::weights, &MoeArgs::gate_up, &MoeArgs::down, &MoeArgs::gate_up_bias,
        &MoeArgs::down_bias}) {
    EXPECT_EQ(of_layer([&](auto& a) { a.*input = memory(0x60000000 + 2 * 512); }),
              "launch.overlap");
  }
  for (DeviceInput MoeArgs::*const input :
       {&MoeArgs::x, &MoeArgs::residual, &MoeArgs::ids, &MoeArgs::weights, &MoeArgs::gate_up,
        &MoeArgs::down, &MoeArgs::gate_up_bias, &MoeArgs::down_bias}) {
    EXPECT_EQ(of_layer([&](auto& a) { a.*input = memory(0xa0000100); }), "launch.overlap");
  }
  EXPECT_EQ(of_layer([](auto& a) { a.y = memory(0xa0000100); }), "launch.overlap");
}

TEST(MoeLaunch, GivesTheKernelAllOfIt) {
  const MoeArgs args = full_args();
  const MoeParameters parameters = moe_parameters(full_layer().spec.moe(), args);
  EXPECT_EQ(parameters.x, args.x.data);
  EXPECT_EQ(parameters.gate_up, args.gate_up.data);
  EXPECT_EQ(parameters.down, args.down.data);
  EXPECT_EQ(parameters.gate_up_bias, args.gate_up_bias.data);
  EXPECT_EQ(parameters.down_bias, args.down_bias.data);
  EXPECT_EQ(parameters.ids, args.ids.data);
  EXPECT_EQ(parameters.routing_weights, args.weights.data);
  EXPECT_EQ(parameters.residual, args.residual.data);
  EXPECT_EQ(parameters.y, args.y.data);
  EXPECT_EQ(parameters.workspace, args.workspace.data);
  EXPECT_EQ(parameters.chosen_ids, nullptr);
  EXPECT_EQ(parameters.chosen_weights, nullptr);
  EXPECT_EQ(parameters.tokens, 3);
}

}  // namespace
}  // namespace heddle
