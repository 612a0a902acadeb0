// The kernels of decode_attention, which an architecture of each kind has a part of: they compile,
// fit the register file, nothing spills, and the compiler has nothing to say. Needs NVRTC, not a
// GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "decode_attention/config.h"
#include "generator/families/configuration.h"
#include "tests/attention_spec.h"
#include "tests/runtime/compile/compile_check.h"

namespace heddle {
namespace {

std::vector<Spec> specs() {
  constexpr const char* kFeatures = R"(,"alibi":"given","window":64,"sink_tokens":5,"softcap":30,)"
                                    R"("sink_logits":true,"log_sum_exp":true)";
  constexpr const char* kChannelAndGroup =
      R"("k":{"dtype":"int4","granularity":"channel","symmetric":false,"scale_dtype":"fp32"},)"
      R"("v":{"dtype":"int2","granularity":"group","symmetric":false})";
  constexpr const char* kChannelContiguous =
      R"("k":{"dtype":"fp8_e4m3","granularity":"channel"},"v":{"dtype":"int8"},)"
      R"("layout":"contiguous")";
  std::vector<Spec> all;
  for (const char* kv :
       {R"("dtype":"int8")", R"("dtype":"int4")", R"("dtype":"fp8_e4m3")", R"("dtype":"fp8_e5m2")",
        R"("dtype":"int8","granularity":"group","group_size":64,"symmetric":false)",
        R"("dtype":"int4","granularity":"group","group_size":32,"order":"nhd")",
        R"("dtype":"int4","symmetric":false,"page_size":16)",
        R"("dtype":"int8","granularity":"token","layout":"contiguous")", R"("dtype":"int2")",
        R"("k":{"dtype":"int8"},"v":{"dtype":"int4"})", R"("dtype":"nvfp4")",
        R"("k":{"dtype":"nvfp4"},"v":{"dtype":"int8"})",
        R"("k":{"granularity":"channel","symmetric":false,"group_size":64},"v":{"dtype":"int8"})",
        R"("k":{"dtype":"int4","granularity":"channel"},"v":{"dtype":"int4"})", kChannelAndGroup,
        kChannelContiguous}) {
    for (const AttentionShape& shape :
         {AttentionShape{32, 8, 128, 1}, AttentionShape{32, 2, 128, 1},
          AttentionShape{32, 32, 64, 1}}) {
      all.push_back(attention_spec(kv, "", shape, all.size() % 2 == 1));
    }
    all.push_back(attention_spec(kv, kFeatures, {32, 8, 128, 4}, all.size() % 2 == 1));
  }
  for (const bool bf16 : {false, true}) {
    const std::string kv = bf16 ? R"("dtype":"bf16")" : R"("dtype":"fp16")";
    for (const AttentionShape& shape :
         {AttentionShape{32, 8, 128, 1}, AttentionShape{32, 2, 128, 1},
          AttentionShape{8, 4, 80, 2}}) {
      all.push_back(attention_spec(kv, "", shape, bf16));
    }
  }
  for (const char* kv : {R"("dtype":"nvfp4")", R"("k":{"dtype":"fp16"},"v":{"dtype":"nvfp4"})"}) {
    all.push_back(attention_spec(kv, kFeatures, {16, 4, 256, 2}, false));
  }
  for (const int head_dim : {64, 80, 96, 192, 256}) {
    all.push_back(attention_spec(R"("dtype":"int8")", kFeatures, {16, 4, head_dim, 2}, true));
    if (head_dim != 80 && head_dim != 256) continue;
    all.push_back(
        attention_spec(R"("k":{"granularity":"channel","symmetric":false},"v":{"dtype":"int8"})",
                       kFeatures, {16, 4, head_dim, 2}, true));
  }
  return all;
}

class CompileAttention : public testing::TestWithParam<int> {};

TEST_P(CompileAttention, WithoutSpills) {
  const Target target = target_from_name("sm_" + std::to_string(GetParam()));
  const std::vector<Spec> all = specs();
  std::vector<Source> sources;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Among the shapes without features each type leaves out another one.
    if (!every_kernel() && i % 4 == i / 4 % 3) continue;
    if (!has_turn(i, target.arch())) continue;
    add_in_turns(resolve(all[i], target), 2, i + i / 4, &sources);  // specs come in fours
  }
  std::string warnings;
  RuntimeOptions options = memory_only();
  options.log = [&](LogLevel level, std::string_view text) {
    if (level >= LogLevel::kWarning) warnings += text;
  };
  Runtime compiler(options);
  expect_no_spills(sources, target, compiler);
  EXPECT_EQ(warnings, "");
}

// Those that no plan has chosen, too.
TEST(CompileAttentionCandidates, WithoutSpills) {
  const Target target = target_from_name("h200");
  std::vector<Source> sources;
  for (const char* kv : {R"("dtype":"int4")", R"("dtype":"int8")", R"("dtype":"fp16")",
                         R"("dtype":"int4","granularity":"group","group_size":32)",
                         R"("dtype":"int4","k":{"granularity":"channel","group_size":64})"}) {
    const Plan plan = resolve(attention_spec(kv, "", {32, 8, 128, 1}, false), target);
    const std::vector<Candidate> all = all_candidates(plan, {1, plan.kernels.back().size_max});
    const std::size_t step = every_kernel() ? 1 : 2;
    for (std::size_t i = 0; i < all.size(); i += step) {
      sources.push_back(candidate_source(plan, all[i], i));
    }
  }
  expect_no_spills(sources, target);
}

// No spec asks for it yet: rows of K, and so of Q, of another size than those of V and the output.
TEST(CompileAttentionWidths, KAndVMayDiffer) {
  const Target target = target_from_name("h200");
  Plan plan = resolve(attention_spec(R"("dtype":"fp16")", "", {8, 8, 128, 1}, false), target);
  plan.kernels.resize(1);
  PlannedKernel& kernel = plan.kernels.front();
  auto config = config_of<device::DecodeAttentionConfig>(kernel);
  config.k.head_dim = 192;
  config.k.row_bytes = 2 * config.k.head_dim;
  config.stages = 2;
  kernel.configuration = make_configuration(config);
  kernel.shared_bytes = config.shared_bytes();
  expect_no_spills(render_all(plan), target);
}

// A step takes any Shape that has the groups of constants which it names (attention/shape.cuh): a
// kernel of its own need not have the others.
TEST(CompileAttentionSteps, NeedOnlyTheGroupsThatTheyName) {
  struct Step {
    const char* name;
    const char* arguments;
    const char* groups;
  };
  constexpr const char* kRows = "AttentionRows<Config>";
  const std::string cache = fmt::format("{}, AttentionCache<Config>", kRows);
  const std::string query = cache + ", AttentionLogitShape<Config>, AttentionPlaces<Config>";
  const std::string mask = fmt::format("{}, AttentionLogitShape<Config>", kRows);
  const std::string schedule = mask + ", AttentionBlocks<Config>, AttentionPlaces<Config>";
  const std::string scores = cache + ", AttentionPlaces<Config>";
  const std::vector<Step> steps = {{"AttentionScheduler", "Part", schedule.c_str()},
                                   {"KvTensorFetch", "Part, Part::Key", "AttentionCache<Config>"},
                                   {"AttentionQuery", "Part", query.c_str()},
                                   {"AttentionScores", "Part", scores.c_str()},
                                   {"AttentionChannels", "Part", query.c_str()},
                                   {"AttentionMask", "Part", mask.c_str()},
                                   {"AttentionSoftmax", "Part", cache.c_str()},
                                   {"AttentionValues", "Part", cache.c_str()}};
  const Plan plan = resolve(
      attention_spec(R"("dtype":"int4","k":{"granularity":"channel"})", "", {32, 8, 128, 1}, false),
      target_from_name("h200"));
  std::vector<Source> sources;
  for (const Step& step : steps) {
    Source source = render(plan, 0);
    const std::string part =
        fmt::format("namespace heddle {{\nstruct Part : {} {{}};\ntemplate struct {}<{}>;\n}}\n",
                    step.groups, step.name, step.arguments);
    source.text.resize(source.text.find("extern \"C\""));
    source.text += part + "extern \"C\" __global__ void " + source.kernel_name + "() {}\n";
    sources.push_back(std::move(source));
  }
  EXPECT_EQ(runtime().build(sources).size(), steps.size());
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileAttention, testing::Values(80, 90, 120),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace heddle
