// Specs of every kind, as text: what computes something else is other code, and the page and the
// JSON about a plan tell the same as the plan.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

using Named = std::pair<std::string, Spec>;

std::vector<Named> gemms() {
  std::vector<Named> specs;
  const auto add = [&specs](const char* what, const std::function<void(GemmSpec&)>& change) {
    GemmSpec spec;
    spec.shape = {1024, 2048, 1, 100};
    change(spec);
    specs.emplace_back(what, Spec::from_gemm(spec));
  };
  const auto weight = [&add](const char* what, WeightType type, int bits, int group, DType scale) {
    add(what, [=](GemmSpec& spec) {
      spec.weight.type = type;
      spec.weight.bits = bits;
      spec.weight.group_size = group;
      spec.weight.scale_dtype = scale;
    });
  };
  add("as it is", [](GemmSpec&) {});
  add("N", [](GemmSpec& spec) { spec.shape.n = 1032; });
  add("K", [](GemmSpec& spec) { spec.shape.k = 4096; });
  for (const Activation activation : {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                                      Activation::kSilu, Activation::kRelu2}) {
    add("activation", [=](GemmSpec& spec) { spec.epilogue.activation = activation; });
  }
  add("bias", [](GemmSpec& spec) { spec.epilogue.bias = true; });
  add("residual", [](GemmSpec& spec) { spec.epilogue.residual = true; });
  add("gated", [](GemmSpec& spec) { spec.epilogue.gated = true; });
  for (const int limit : {7, 8}) {
    add("limit", [=](GemmSpec& spec) {
      spec.epilogue = {false, Activation::kClampedSwiglu, false, true, limit};
    });
  }
  for (const DType output : {DType::kBf16, DType::kFp32}) {
    add("output", [=](GemmSpec& spec) { spec.output = output; });
  }
  add("pre_scale", [](GemmSpec& spec) { spec.pre_scale = true; });
  add("act_order", [](GemmSpec& spec) { spec.act_order = true; });
  add("both", [](GemmSpec& spec) { spec.act_order = spec.pre_scale = true; });
  add("zeros", [](GemmSpec& spec) { spec.weight.zero_point = ZeroPoint::kInt; });
  add("float zeros", [](GemmSpec& spec) { spec.weight.zero_point = ZeroPoint::kFloat; });
  add("trtllm", [](GemmSpec& spec) { spec.weight.interleave = Interleave::kTrtllm; });
  add("turing", [](GemmSpec& spec) { spec.path = Path::kTuring; });
  add("ampere", [](GemmSpec& spec) { spec.path = Path::kAmpere; });
  add("bf16", [](GemmSpec& spec) {
    spec.activation = DType::kBf16;
    spec.weight.scale_dtype = DType::kBf16;
  });
  weight("int", WeightType::kInt, 4, 128, DType::kFp16);
  for (const int bits : {2, 3, 8}) weight("bits", WeightType::kUint, bits, 128, DType::kFp16);
  weight("group 32", WeightType::kUint, 4, 32, DType::kFp16);
  weight("channels", WeightType::kUint, 4, kPerChannel, DType::kFp16);
  weight("bf16 scales", WeightType::kUint, 4, 128, DType::kBf16);
  weight("fp32 scales", WeightType::kUint, 4, 128, DType::kFp32);
  weight("e4m3", WeightType::kE4m3, 8, kPerChannel, DType::kFp32);
  weight("e5m2", WeightType::kE5m2, 8, kPerTensor, DType::kFp32);
  weight("e2m3", WeightType::kE2m3, 6, 128, DType::kFp16);
  weight("e3m2", WeightType::kE3m2, 6, 128, DType::kFp16);
  weight("mxfp4", WeightType::kE2m1, 4, 32, DType::kE8m0);
  weight("e2m1 with e4m3", WeightType::kE2m1, 4, 16, DType::kE4m3);
  weight("nf4", WeightType::kNf4, 4, 64, DType::kFp16);
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    add("16 bits", [=](GemmSpec& spec) {
      spec.weight = plain_weight(dtype);
      spec.activation = dtype;
    });
  }
  return specs;
}

std::vector<Named> weight_ops() {
  std::vector<Named> specs;
  const auto add = [&specs](const char* what, Op op, CheckpointFormat format, DType dtype,
                            const std::function<void(WeightOpSpec&)>& change) {
    WeightOpSpec spec;
    spec.shape = {1024, 2048};
    spec.format = format;
    spec.dtype = dtype;
    change(spec);
    specs.emplace_back(what, Spec::from_weight_op(op, spec));
  };
  const auto nothing = [](WeightOpSpec&) {};
  const auto zeros = [](WeightOpSpec& spec) { spec.weight.zero_point = ZeroPoint::kInt; };
  using Format = CheckpointFormat;
  for (const Format format : {Format::kHeddle, Format::kGptq, Format::kGptqV2, Format::kAwq}) {
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      add("dequantize", Op::kDequantize, format, dtype, zeros);
    }
    if (format != Format::kHeddle) add("repack", Op::kRepack, format, DType::kFp16, zeros);
  }
  add("dequantize in order", Op::kDequantize, Format::kGptq, DType::kFp16,
      [](WeightOpSpec& spec) { spec.act_order = true; });
  const struct {
    DType scale;
    int group;
  } scales[] = {{DType::kBf16, 128}, {DType::kFp32, 128}, {DType::kE8m0, 32}, {DType::kE4m3, 16}};
  for (const auto& [scale, group] : scales) {
    const auto as_scales = [scale = scale, group = group](WeightOpSpec& spec) {
      spec.weight.type = WeightType::kE2m1;
      spec.weight.scale_dtype = scale;
      spec.weight.group_size = group;
    };
    add("scales", Op::kDequantize, Format::kHeddle, DType::kFp16, as_scales);
    add("scales", Op::kQuantizeWeight, Format::kHeddle, DType::kFp16, as_scales);
  }
  add("quantize", Op::kQuantizeWeight, Format::kHeddle, DType::kFp16, nothing);
  add("quantize bf16", Op::kQuantizeWeight, Format::kHeddle, DType::kBf16, nothing);
  return specs;
}

std::vector<Named> layers_of_experts() {
  std::vector<Named> specs;
  const auto add = [&specs](const char* what, const std::function<void(MoeSpec&)>& change) {
    MoeSpec spec;
    spec.shape = {
        .hidden = 1024, .intermediate = 512, .experts = 16, .top_k = 4, .tokens_max = 100};
    change(spec);
    specs.emplace_back(what, Spec::from_moe(spec));
  };
  add("as it is", [](MoeSpec&) {});
  add("hidden", [](MoeSpec& spec) { spec.shape.hidden = 1280; });
  add("intermediate", [](MoeSpec& spec) { spec.shape.intermediate = 768; });
  add("experts", [](MoeSpec& spec) { spec.shape.experts = 24; });
  add("top_k", [](MoeSpec& spec) { spec.shape.top_k = 2; });
  add("first expert", [](MoeSpec& spec) {
    spec.shape.first_expert = 4;
    spec.shape.local_experts = 8;
  });
  add("another first expert", [](MoeSpec& spec) {
    spec.shape.first_expert = 8;
    spec.shape.local_experts = 8;
  });
  add("scores", [](MoeSpec& spec) { spec.router.scores = RouterScores::kSoftmax; });
  const auto add_router = [&](const char* what, void (*change)(RouterSpec&)) {
    add(what, [=](MoeSpec& spec) {
      spec.router.scores = RouterScores::kSigmoid;
      change(spec.router);
    });
  };
  add_router("other scores", [](RouterSpec&) {});
  add_router("logits", [](RouterSpec& router) { router.logits = DType::kBf16; });
  add_router("renormalize", [](RouterSpec& router) { router.renormalize = true; });
  add_router("factor", [](RouterSpec& router) { router.scaling_factor = 2.5F; });
  add_router("another factor", [](RouterSpec& router) { router.scaling_factor = 2.5000002F; });
  add_router("correction", [](RouterSpec& router) { router.correction_bias = true; });
  add_router("expert scales", [](RouterSpec& router) { router.expert_scales = true; });
  add_router("groups", [](RouterSpec& router) { router.groups = router.top_groups = 2; });
  add_router("more groups", [](RouterSpec& router) { router.groups = router.top_groups = 4; });
  add_router("fewer of the groups", [](RouterSpec& router) {
    router.groups = 4;
    router.top_groups = 3;
  });
  add_router("two of a group", [](RouterSpec& router) {
    router.groups = router.top_groups = 2;
    router.group_score = GroupScore::kTopTwo;
  });
  add("act-order", [](MoeSpec& spec) { spec.act_order = true; });
  add("shared", [](MoeSpec& spec) { spec.shape.shared_experts = 1; });
  add("more shared", [](MoeSpec& spec) { spec.shape.shared_experts = 2; });
  add("gated shared", [](MoeSpec& spec) {
    spec.shape.shared_experts = 2;
    spec.shared_gate = true;
  });
  add("input", [](MoeSpec& spec) { spec.routing_weight = RoutingWeight::kInput; });
  add("bias", [](MoeSpec& spec) { spec.epilogue.bias = true; });
  add("residual", [](MoeSpec& spec) { spec.epilogue.residual = true; });
  add("gated", [](MoeSpec& spec) { spec.epilogue.gated = true; });
  add("silu", [](MoeSpec& spec) { spec.epilogue.activation = Activation::kSilu; });
  for (const int limit : {7, 8}) {
    add("limit", [=](MoeSpec& spec) {
      spec.epilogue = {.activation = Activation::kClampedSwiglu, .gated = true, .limit = limit};
    });
  }
  for (const int limit : {4, 5}) {
    add("situ", [=](MoeSpec& spec) {
      spec.epilogue = {.activation = Activation::kSitu, .gated = true, .gate_limit = limit};
    });
  }
  add("clamped silu", [](MoeSpec& spec) {
    spec.epilogue = {.activation = Activation::kSilu, .gated = true, .limit = 7};
  });
  add("bf16", [](MoeSpec& spec) {
    spec.activation = DType::kBf16;
    spec.gate_up.scale_dtype = spec.down.scale_dtype = DType::kBf16;
  });
  for (WeightSpec MoeSpec::*const weight : {&MoeSpec::gate_up, &MoeSpec::down}) {
    add("bits", [=](MoeSpec& spec) { (spec.*weight).bits = 8; });
    add("group", [=](MoeSpec& spec) { (spec.*weight).group_size = 32; });
    add("zeros", [=](MoeSpec& spec) { (spec.*weight).zero_point = ZeroPoint::kInt; });
    add("e2m1", [=](MoeSpec& spec) { (spec.*weight).type = WeightType::kE2m1; });
  }
  add("16 bits", [](MoeSpec& spec) { spec.gate_up = spec.down = plain_weight(DType::kFp16); });
  return specs;
}

std::vector<Named> every_kind() {
  std::vector<Named> specs = gemms();
  for (Named& spec : weight_ops()) specs.push_back(std::move(spec));
  for (Named& spec : layers_of_experts()) specs.push_back(std::move(spec));
  return specs;
}

// The lines that are no comment: the banner holds the spec. Names of kernels hold digests of it.
std::string code_without_comments(const Source& source) {
  std::istringstream lines(source.text);
  std::string code;
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, 2, "//") == 0) continue;
    const std::size_t at = line.find(source.kernel_name);
    if (at != std::string::npos) line.replace(at, source.kernel_name.size(), "kernel");
    code += line + '\n';
  }
  return code;
}

TEST(EveryKind, WhatComputesSomethingElseIsOtherCode) {
  std::map<std::string, std::string> known;  // code of all kernels, and whose it is
  for (const auto& [what, spec] : every_kind()) {
    std::string code;
    for (const Source& source : render_all(resolve(spec, target_from_name("h200")))) {
      code += code_without_comments(source);
    }
    const auto [other, is_new] = known.emplace(code, spec.canonical_json());
    EXPECT_TRUE(is_new) << what << ": " << spec.canonical_json() << "\nis the code of "
                        << other->second;
  }
}

TEST(EveryKind, EachKernelIsThereUnderItsName) {
  for (const char* target : {"h200", "a100"}) {
    for (const auto& [what, spec] : every_kind()) {
      const Plan plan = resolve(spec, target_from_name(target));
      const std::vector<Source> sources = render_all(plan);
      ASSERT_EQ(sources.size(), plan.kernel_count());
      for (const Source& source : sources) {
        EXPECT_NE(source.text.find(' ' + source.kernel_name + '('), std::string::npos) << what;
        EXPECT_EQ(source.arch, compiler_arch(plan.target));
        EXPECT_LE(source.dynamic_shared_bytes, plan.target.shared_per_block);
      }
      EXPECT_ANY_THROW(render(plan, plan.kernel_count()));
    }
  }
}

TEST(EveryKind, ThePageNamesAllKernelsAndReasons) {
  for (const char* target : {"h200", "a100"}) {
    for (const auto& [what, spec] : every_kind()) {
      const Plan plan = resolve(spec, target_from_name(target));
      const std::string page = describe(plan);
      EXPECT_NE(page.find(spec.canonical_json()), std::string::npos) << what;
      for (std::size_t i = 0; i < plan.kernel_count(); ++i) {
        const PlannedKernel& kernel = plan.kernel(i);
        EXPECT_NE(page.find(kernel.name), std::string::npos) << what;
        EXPECT_NE(page.find(fmt::format("{}: {}", kernel.family->name(),
                                        kernel.family->describe(kernel))),
                  std::string::npos)
            << what << page;
        EXPECT_NE(page.find(fmt::format("{} bytes of shared memory", kernel.shared_bytes)),
                  std::string::npos)
            << what;
      }
      for (const std::string& reason : plan.reasons) {
        EXPECT_NE(page.find("- " + reason), std::string::npos) << what;
      }
    }
  }
}

TEST(EveryKind, TheJsonHoldsThePlan) {
  for (const char* target : {"h200", "a100"}) {
    for (const auto& [what, spec] : every_kind()) {
      const Plan plan = resolve(spec, target_from_name(target));
      const auto json = nlohmann::json::parse(plan_to_json(plan));
      EXPECT_EQ(Spec::parse(json.at("spec").dump()).canonical_json(), spec.canonical_json());
      ASSERT_EQ(json.contains("layout"), spec.has_weight()) << what;
      if (spec.has_weight()) {
        EXPECT_EQ(json.at("layout").at("total_bytes"), plan.layout.total_bytes);
        EXPECT_EQ(json.at("decode").at("ops").size(), plan.decode->ops.size()) << what;
      }
      std::vector<std::string> names;
      for (std::size_t i = 0; i < plan.kernel_count(); ++i) names.push_back(plan.kernel(i).name);
      ASSERT_EQ(json.at("kernels").size(), names.size());
      for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(json.at("kernels")[i].at("name"), names[i]) << what;
      }
    }
  }
}

}  // namespace
}  // namespace heddle
