// The spec of moe: its two weights, which of its fields go together, and what is refused by name.
#include <string>
#include <utility>
#include <vector>

#include "generator/operations/moe/moe.h"
#include "tests/generator/spec/spec_helpers.h"
#include "tests/generator/spec/spec_pointers.h"

namespace heddle {
namespace {

// Members of the layer, of the object `shape` and of the two weights.
struct MoeText {
  std::string shape;
  std::string gate_up = R"("bits":4)";
  std::string down = R"("bits":4)";
  std::string more;
  std::string activation = R"("dtype":"fp16")";

  std::string json() const {
    return R"({"heddle":1,"op":"moe","shape":{"hidden":256,"intermediate":128,"experts":8,)"
           R"("top_k":2)" +
           shape + R"(},"weight":{"gate_up":{)" + gate_up + R"(},"down":{)" + down +
           R"(}},"activation":{)" + activation + "}" + more + "}";
  }
};

TEST(SpecMoe, WritesEveryDefault) {
  const std::string weight =
      R"({"bits":4,"type":"uint","group_size":128,"zero_point":"none","scale_dtype":"fp16",)"
      R"("tensor_scale":false,"interleave":"fragment"})";
  EXPECT_EQ(Spec::parse(MoeText().json()).canonical_json(),
            R"({"heddle":1,"op":"moe","shape":{"hidden":256,"intermediate":128,"experts":8,)"
            R"("top_k":2,"tokens":[1,4096],"first_expert":0,"local_experts":0},)"
            R"("weight":{"gate_up":)" +
                weight + R"(,"down":)" + weight +
                R"(},"activation":{"dtype":"fp16"},"routing":{"weight":"output"},)"
                R"("epilogue":{"bias":false,"activation":"none","residual":false,"gated":false}})");
}

TEST(SpecMoe, ReadsSharedExperts) {
  MoeText text;
  text.shape = R"(,"shared_experts":2,"first_expert":4)";
  text.more = R"(,"routing":{"shared_gate":true})";
  const Spec spec = Spec::parse(text.json());
  EXPECT_EQ(spec.moe().shape.shared_experts, 2);
  EXPECT_TRUE(spec.moe().shared_gate);
  EXPECT_EQ(spec.moe().local_experts(), 4);
  EXPECT_EQ(spec.moe().device_experts(), 6);
  EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
}

TEST(SpecMoe, ReadsAnOrderOfColumns) {
  MoeText text;
  text.activation = R"("dtype":"fp16","act_order":true)";
  const Spec spec = Spec::parse(text.json());
  EXPECT_TRUE(spec.moe().act_order);
  EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
  // Rows of gate_up take up an order of down's columns.
  EXPECT_TRUE(moe_gemms(spec.moe()).gate_up.act_order);
  EXPECT_FALSE(moe_gemms(spec.moe()).down.act_order);
}

TEST(SpecMoe, MayBeBatchInvariant) {
  MoeText text;
  EXPECT_FALSE(Spec::parse(text.json()).moe().batch_invariant);
  text.more = R"(,"batch_invariant":true)";
  const Spec spec = Spec::parse(text.json());
  EXPECT_TRUE(spec.moe().batch_invariant);
  EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
  EXPECT_NE(spec.canonical_json().find(R"("batch_invariant":true)"), std::string::npos);
}

TEST(SpecMoe, ReadsEachWeight) {
  MoeText text;
  text.gate_up = R"("bits":4,"type":"e2m1","group_size":32,"scale_dtype":"e8m0")";
  text.down = R"("bits":8,"zero_point":"int","group_size":-1)";
  text.more = R"(,"routing":{"weight":"input"})";
  text.shape = R"(,"first_expert":2,"local_experts":3,"tokens":[5,7])";
  const MoeSpec moe = Spec::parse(text.json()).moe();
  EXPECT_EQ(moe.gate_up.type, WeightType::kE2m1);
  EXPECT_EQ(moe.gate_up.scale_dtype, DType::kE8m0);
  EXPECT_EQ(moe.gate_up.group_size, 32);
  EXPECT_EQ(moe.down.bits, 8);
  EXPECT_EQ(moe.down.zero_point, ZeroPoint::kInt);
  EXPECT_EQ(moe.down.group_size, kPerChannel);
  EXPECT_EQ(moe.routing_weight, RoutingWeight::kInput);
  EXPECT_EQ(moe.shape.first_expert, 2);
  EXPECT_EQ(moe.local_experts(), 3);
  EXPECT_EQ(moe.shape.tokens_min, 5);
  EXPECT_EQ(moe.shape.tokens_max, 7);
  const std::string canonical = Spec::parse(text.json()).canonical_json();
  EXPECT_EQ(Spec::parse(canonical).canonical_json(), canonical);
  EXPECT_EQ(Spec::from_moe(moe).canonical_json(), canonical);
}

// Where there are logits, all that is done with them is written; without them there is nothing.
TEST(SpecMoe, ReadsHowExpertsAreChosen) {
  const auto with = [](const std::string& routing) {
    MoeText text;
    text.more = R"(,"routing":{)" + routing + "}";
    return Spec::parse(text.json());
  };
  const auto has = [](const Spec& spec, const std::string& routing) {
    return spec.canonical_json().find(R"("routing":{)" + routing + R"(,"weight":"output"})") !=
           std::string::npos;
  };
  EXPECT_TRUE(has(with(R"("scores":"softmax")"),
                  R"("scores":"softmax","logits_dtype":"fp32","renormalize":false,)"
                  R"("scaling_factor":1,"correction_bias":false,"expert_scales":false,)"
                  R"("groups":1,"top_groups":0,"group_score":"max")"))
      << with(R"("scores":"softmax")").canonical_json();
  const Spec all = with(R"("group_score":"top_two","top_groups":2,"groups":4,"expert_scales":true,)"
                        R"("correction_bias":true,"scaling_factor":2.5,"renormalize":true,)"
                        R"("logits_dtype":"bf16","scores":"sqrt_softplus")");
  const RouterSpec& router = all.moe().router;
  EXPECT_EQ(router.scores, RouterScores::kSqrtSoftplus);
  EXPECT_EQ(router.logits, DType::kBf16);
  EXPECT_TRUE(router.renormalize);
  EXPECT_EQ(router.scaling_factor, 2.5F);
  EXPECT_TRUE(router.correction_bias);
  EXPECT_TRUE(router.expert_scales);
  EXPECT_EQ(router.groups, 4);
  EXPECT_EQ(router.top_groups, 2);
  EXPECT_EQ(router.group_score, GroupScore::kTopTwo);
  EXPECT_EQ(Spec::parse(all.canonical_json()).canonical_json(), all.canonical_json());
  EXPECT_EQ(Spec::from_moe(all.moe()).canonical_json(), all.canonical_json());
  // One group is none, however it was said; and so are no logits.
  EXPECT_EQ(
      with(R"("scores":"sigmoid","groups":1,"top_groups":1,"group_score":"max")").canonical_json(),
      with(R"("scores":"sigmoid")").canonical_json());
  EXPECT_EQ(with(R"("scores":"none")").canonical_json(),
            Spec::parse(MoeText().json()).canonical_json());
}

TEST(SpecMoe, RefusesAChoiceWithoutLogits) {
  for (const char* member :
       {R"("logits_dtype":"fp32")", R"("renormalize":true)", R"("scaling_factor":2)",
        R"("correction_bias":true)", R"("expert_scales":true)", R"("groups":2)",
        R"("top_groups":1)", R"("group_score":"max")"}) {
    for (const std::string& routing :
         {std::string(member), R"("scores":"none",)" + std::string(member),
          std::string(member) + R"(,"scores":"none")"}) {
      MoeText text;
      text.more = R"(,"routing":{)" + routing + "}";
      const Problem problem = parse_error(text.json()).problems().at(0);
      const std::string name(member + 1, std::string(member).find('"', 1) - 1);
      EXPECT_EQ(problem.pointer, "/routing/" + name);
      EXPECT_EQ(problem.message, R"(there is none where /routing/scores is "none")");
    }
  }
  MoeSpec spec = Spec::parse(MoeText().json()).moe();
  spec.router.renormalize = true;
  try {
    Spec::from_moe(spec);
    FAIL() << "nothing would be renormalised";
  } catch (const Error& error) {
    EXPECT_EQ(error.problems().at(0).pointer, "/routing/renormalize");
  }
}

// All experts from the first on are all that follow it, whichever way it was said.
TEST(SpecMoe, SameExpertsSameText) {
  const auto canonical = [](const std::string& shape) {
    MoeText text;
    text.shape = shape;
    return Spec::parse(text.json()).canonical_json();
  };
  EXPECT_EQ(canonical(R"(,"local_experts":8)"), canonical(""));
  EXPECT_EQ(canonical(R"(,"first_expert":5,"local_experts":3)"), canonical(R"(,"first_expert":5)"));
  EXPECT_NE(canonical(R"(,"first_expert":5,"local_experts":2)"), canonical(R"(,"first_expert":5)"));
  MoeText text;
  text.shape = R"(,"first_expert":5)";
  EXPECT_EQ(Spec::parse(text.json()).moe().local_experts(), 3);
}

// What the language has no word for is refused where it stands.
TEST(SpecMoe, RefusesUnknownFieldsAndValues) {
  const auto pointer_of = [](const MoeText& text) {
    return parse_error(text.json()).problems().at(0).pointer;
  };
  const auto with = [](std::string MoeText::*member, const std::string& value) {
    MoeText text;
    text.*member = value;
    return text;
  };
  using P = std::pair<std::string, std::string>;
  // Experts take X in 16 bits and as it is.
  for (const char* dtype : {"int8", "fp8_e4m3", "fp8_e5m2", "fp32"}) {
    EXPECT_EQ(pointer_of(with(&MoeText::activation, R"("dtype":")" + std::string(dtype) + '"')),
              "/activation/dtype");
  }
  for (const char* field : {"granularity", "pre_scale"}) {
    EXPECT_EQ(pointer_of(with(&MoeText::activation,
                              R"("dtype":"fp16",")" + std::string(field) + R"(":true)")),
              "/activation/" + std::string(field));
  }
  for (const auto& [shape, pointer] :
       {P{R"(,"tokens":[0,4])", "/shape/tokens/0"}, P{R"(,"tokens":[1])", "/shape/tokens"},
        P{R"(,"first_expert":-1)", "/shape/first_expert"},
        P{R"(,"first_expert":1024)", "/shape/first_expert"},
        P{R"(,"local_experts":1025)", "/shape/local_experts"}, P{R"(,"m":[1,4])", "/shape/m"},
        P{R"(,"shared_expert":1)", "/shape/shared_expert"}}) {
    EXPECT_EQ(pointer_of(with(&MoeText::shape, shape)), pointer);
  }
  for (const auto& [more, pointer] :
       {P{R"(,"routing":{"weight":"both"})", "/routing/weight"},
        P{R"(,"routing":{"logits":true})", "/routing/logits"},
        P{R"(,"routing":{"scores":"tanh"})", "/routing/scores"},
        P{R"(,"routing":{"scores":"sigmoid","logits_dtype":"int8"})", "/routing/logits_dtype"},
        P{R"(,"routing":{"scores":"sigmoid","scaling_factor":0})", "/routing/scaling_factor"},
        P{R"(,"routing":{"scores":"sigmoid","scaling_factor":-1})", "/routing/scaling_factor"},
        P{R"(,"routing":{"scores":"sigmoid","groups":33})", "/routing/groups"},
        P{R"(,"routing":{"scores":"sigmoid","group_score":"sum"})", "/routing/group_score"},
        P{R"(,"output":{"dtype":"fp16"})", "/output"}, P{R"(,"path":"ampere")", "/path"},
        P{R"(,"tile":{"m":64})", "/tile"},
        P{R"(,"epilogue":{"pre_scale":true})", "/epilogue/pre_scale"}}) {
    EXPECT_EQ(pointer_of(with(&MoeText::more, more)), pointer);
  }
  for (const char* member : {"gate_up", "down"}) {
    auto MoeText::*const weight =
        member == std::string("down") ? &MoeText::down : &MoeText::gate_up;
    const std::string object = std::string("/weight/") + member;
    for (const auto& [fields, field] :
         {P{R"("bits":9)", "/bits"}, P{R"("bits":4,"group_size":100)", "/group_size"},
          P{R"("bits":4,"type":"int4")", "/type"}, P{"", "/bits"}}) {
      EXPECT_EQ(pointer_of(with(weight, fields)), object + field);
    }
  }
  const Error missing = parse_error(
      R"({"heddle":1,"op":"moe","shape":{"hidden":256,"intermediate":128,"experts":8,"top_k":2},)"
      R"("weight":{"down":{"bits":4}},"activation":{"dtype":"fp16"}})");
  EXPECT_EQ(missing.problems().at(0).pointer, "/weight/gate_up");
  EXPECT_EQ(missing.problems().at(0).message, "the field is required");
}

RouterSpec groups(std::int64_t count, std::int64_t top, GroupScore score) {
  RouterSpec router{.scores = RouterScores::kSigmoid};
  router.groups = count;
  router.top_groups = top;
  router.group_score = score;
  return router;
}

MoeSpec valid() { return Spec::parse(MoeText().json()).moe(); }

// What each change of a valid spec is refused for.
TEST(SpecMoe, RefusesWhatDoesNotGoTogether) {
  struct Case {
    const char* why;
    void (*change)(MoeSpec&);
    Pointers pointers;
  };
  const Case cases[] = {
      {"valid", [](MoeSpec&) {}, {}},
      {"top_k", [](MoeSpec& s) { s.shape.top_k = 9; }, {"/shape/top_k"}},
      {"every expert", [](MoeSpec& s) { s.shape.top_k = 8; }, {}},
      {"no first expert", [](MoeSpec& s) { s.shape.first_expert = 8; }, {"/shape/first_expert"}},
      {"too many local experts",
       [](MoeSpec& s) {
         s.shape.first_expert = 4;
         s.shape.local_experts = 5;
       },
       {"/shape/local_experts"}},
      {"the last local experts",
       [](MoeSpec& s) {
         s.shape.first_expert = 4;
         s.shape.local_experts = 4;
       },
       {}},
      {"tokens", [](MoeSpec& s) { s.shape.tokens_min = 5000; }, {"/shape/tokens"}},
      {"too many assignments",
       [](MoeSpec& s) { s.shape.tokens_max = (std::int64_t{1} << 29) + 1; },
       {"/shape/tokens/1"}},
      {"the most assignments", [](MoeSpec& s) { s.shape.tokens_max = std::int64_t{1} << 29; }, {}},
      {"groups", [](MoeSpec& s) { s.router = groups(4, 2, GroupScore::kTopTwo); }, {}},
      {"as many groups as experts",
       [](MoeSpec& s) { s.router = groups(8, 2, GroupScore::kMax); },
       {}},
      {"all groups", [](MoeSpec& s) { s.router = groups(2, 2, GroupScore::kMax); }, {}},
      {"uneven groups",
       [](MoeSpec& s) { s.router = groups(3, 2, GroupScore::kMax); },
       {"/routing/groups"}},
      {"groups without their number",
       [](MoeSpec& s) { s.router = groups(4, 0, GroupScore::kMax); },
       {"/routing/top_groups"}},
      {"more groups than there are",
       [](MoeSpec& s) { s.router = groups(4, 5, GroupScore::kMax); },
       {"/routing/top_groups"}},
      {"several of one group",
       [](MoeSpec& s) { s.router = groups(1, 2, GroupScore::kMax); },
       {"/routing/top_groups"}},
      {"a score of groups that there are not",
       [](MoeSpec& s) { s.router = groups(1, 0, GroupScore::kTopTwo); },
       {"/routing/group_score"}},
      {"groups of too few experts",
       [](MoeSpec& s) { s.router = groups(8, 1, GroupScore::kMax); },
       {"/routing/top_groups"}},
      {"two of one expert",
       [](MoeSpec& s) { s.router = groups(8, 4, GroupScore::kTopTwo); },
       {"/routing/group_score"}},
      {"a gate of no experts", [](MoeSpec& s) { s.shared_gate = true; }, {"/routing/shared_gate"}},
      {"more experts of a token than a warp has lanes",
       [](MoeSpec& s) { s.shape.shared_experts = 33 - s.shape.top_k; },
       {"/shape/shared_experts"}},
      {"a clamped function without its limit",
       [](MoeSpec& s) {
         s.epilogue.gated = true;
         s.epilogue.activation = Activation::kClampedSwiglu;
       },
       {"/epilogue/limit"}},
      {"a clamped function without gates",
       [](MoeSpec& s) {
         s.epilogue.activation = Activation::kClampedSwiglu;
         s.epilogue.limit = 7;
       },
       {"/epilogue/activation"}},
      {"a limit of another function",
       [](MoeSpec& s) {
         s.epilogue.activation = Activation::kSilu;
         s.epilogue.limit = 7;
       },
       {"/epilogue/limit"}},
  };
  for (const Case& one : cases) {
    MoeSpec spec = valid();
    one.change(spec);
    EXPECT_EQ(pointers_of(check_meaning(spec)), one.pointers) << one.why;
  }
}

// What a gemm of these weights is refused for, of either product at its own fields. The first one
// reads 256 columns, the second 128.
TEST(SpecMoe, RefusesTheWeightsOfAGemm) {
  struct Case {
    void (*change)(WeightSpec&);
    const char* field;
  };
  const Case cases[] = {
      {[](WeightSpec& w) { w.group_size = 96; }, "/group_size"},
      {[](WeightSpec& w) { w.group_size = 512; }, "/group_size"},
      {[](WeightSpec& w) { w.interleave = Interleave::kByteFragment; }, "/interleave"},
      {[](WeightSpec& w) {
         w.bits = 8;
         w.interleave = Interleave::kSwizzle128b;
       },
       "/interleave"},
      {[](WeightSpec& w) {
         w.bits = 8;
         w.type = WeightType::kE4m3;
         w.group_rows = kBlockRows;
       },
       "/group_rows"},
      {[](WeightSpec& w) {
         w.channel_scale = DType::kFp32;
         w.scale_dtype = DType::kInt8;
       },
       "/channel_scale"},
      {[](WeightSpec& w) {
         w = {};
         w.type = WeightType::kBf16;
         w.bits = 16;
       },
       "/type"},
  };
  for (const Case& one : cases) {
    MoeSpec gate_up = valid();
    one.change(gate_up.gate_up);
    EXPECT_EQ(pointers_of(check_meaning(gate_up)),
              Pointers{std::string("/weight/gate_up") + one.field});
    MoeSpec down = valid();
    one.change(down.down);
    EXPECT_EQ(pointers_of(check_meaning(down)), Pointers{std::string("/weight/down") + one.field});
  }
  // A group that only the columns of one of the two are a multiple of.
  MoeSpec groups = valid();
  groups.gate_up.group_size = groups.down.group_size = 256;
  EXPECT_EQ(pointers_of(check_meaning(groups)), Pointers{"/weight/down/group_size"});
}

// The two products as gemms, of which an engine packs the weights of each expert.
TEST(SpecMoe, IsMadeOfTwoGemms) {
  MoeSpec spec = valid();
  spec.epilogue = {.bias = true,
                   .activation = Activation::kClampedSwiglu,
                   .residual = true,
                   .gated = true,
                   .limit = 7};
  spec.down.bits = 8;
  const MoeGemms gemms = moe_gemms(spec);
  EXPECT_EQ(gemms.gate_up.shape.n, 2 * spec.shape.intermediate);
  EXPECT_EQ(gemms.gate_up.shape.k, spec.shape.hidden);
  EXPECT_EQ(gemms.down.shape.n, spec.shape.hidden);
  EXPECT_EQ(gemms.down.shape.k, spec.shape.intermediate);
  EXPECT_EQ(gemms.gate_up.weight.bits, 4);
  EXPECT_EQ(gemms.down.weight.bits, 8);
  EXPECT_TRUE(gemms.gate_up.epilogue.gated);
  EXPECT_EQ(gemms.gate_up.epilogue.limit, 7);
  EXPECT_FALSE(gemms.down.epilogue.gated);
  EXPECT_TRUE(gemms.down.epilogue.bias);
  EXPECT_FALSE(gemms.down.epilogue.residual) << "it is added to the sum";
  EXPECT_EQ(gemms.down.output_dtype(), DType::kFp32);
  // Both are specs of their own.
  EXPECT_EQ(Spec::from_gemm(gemms.gate_up).gemm().shape.k, spec.shape.hidden);
  EXPECT_TRUE(check_meaning(gemms.gate_up).empty());
  EXPECT_TRUE(check_meaning(gemms.down).empty());
}

}  // namespace
}  // namespace heddle
