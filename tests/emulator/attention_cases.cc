#include "tests/emulator/attention_cases.h"

#include <stdexcept>
#include <utility>

#include "decode_attention/config.h"
#include "generator/families/configuration.h"
#include "generator/planner/choose.h"
#include "tests/attention_spec.h"

namespace heddle {
namespace {

class AttentionCases {
 public:
  // See attention_spec(); every other case has FP16.
  AttentionCase& add(std::string name, const AttentionShape& shape, const char* kv,
                     const char* more = "") {
    const bool bf16 = cases.size() % 2 != 0;
    cases.push_back({std::move(name), attention_spec(kv, more, shape, bf16)});
    return cases.back();
  }

  std::vector<AttentionCase> cases;
};

std::vector<AttentionCase> make_attention_cases() {
  AttentionCases c;
  // Each type of codes with each kind of scales, in pages and in one run of tokens.
  c.add("Int8", {8, 2, 64, 1}, R"("dtype":"int8")");
  c.add("Int8Tensor", {4, 4, 128, 1},
        R"("dtype":"int8","granularity":"tensor","symmetric":false,"page_size":16,"order":"nhd")",
        R"(,"softcap":20)");
  c.add("Int8Token", {6, 2, 64, 3},
        R"("dtype":"int8","granularity":"token","symmetric":false,"page_size":24)",
        R"(,"alibi":"given","log_sum_exp":true)");
  c.add("Int8Head", {6, 2, 128, 1}, R"("dtype":"int8","layout":"contiguous","order":"nhd")",
        R"(,"window":100,"log_sum_exp":true)");
  c.add("Int8Group", {4, 2, 128, 2}, R"("dtype":"int8","granularity":"group","group_size":32)",
        R"(,"window":64,"sink_tokens":40)");
  c.add("Int4", {12, 4, 96, 1}, R"("dtype":"int4","scale_dtype":"fp32","layout":"contiguous")",
        R"(,"alibi":"standard")");
  c.add("Int4Tensor", {4, 2, 64, 1},
        R"("dtype":"int4","granularity":"tensor","layout":"contiguous")",
        R"(,"scale_dim":100,"softcap":30,"alibi":"given","window":90,"sink_logits":true)");
  c.add("Int4Token", {4, 2, 64, 1},
        R"("dtype":"int4","granularity":"token","page_size":16,"order":"nhd")",
        R"(,"sink_logits":true,"log_sum_exp":true)");
  c.add("Int4Group", {4, 2, 128, 1},
        R"("dtype":"int4","granularity":"group","group_size":32,"symmetric":false,)"
        R"("page_size":128,"order":"nhd")",
        R"(,"window":64,"sink_tokens":5)");
  c.add("Int2", {4, 2, 64, 1}, R"("dtype":"int2","page_size":16,"order":"nhd")");
  c.add("Int2Group", {6, 2, 128, 1},
        R"("dtype":"int2","granularity":"group","group_size":64,"symmetric":false)",
        R"(,"window":100)");
  c.add("E4m3Tensor", {6, 2, 80, 1}, R"("dtype":"fp8_e4m3","page_size":1)");
  c.add("E4m3Head", {4, 2, 256, 2}, R"("dtype":"fp8_e4m3","granularity":"head","order":"nhd")",
        R"(,"sink_logits":true,"log_sum_exp":true)");
  c.add("E5m2Token", {4, 2, 128, 1},
        R"("dtype":"fp8_e5m2","granularity":"token","scale_dtype":"fp32","page_size":24)",
        R"(,"softcap":20)");
  c.add("E5m2Group", {4, 1, 128, 1},
        R"("dtype":"fp8_e5m2","granularity":"group","layout":"contiguous","order":"nhd")",
        R"(,"alibi":"standard","log_sum_exp":true)");
  c.add("Bf16", {4, 2, 80, 3}, R"("dtype":"bf16","layout":"contiguous","order":"nhd")",
        R"(,"log_sum_exp":true)");
  c.add("Fp16", {6, 2, 64, 1}, R"("dtype":"fp16","page_size":16)",
        R"(,"window":100,"sink_tokens":5)");
  c.add("Bf16OfLargeHeads", {4, 2, 256, 1}, R"("dtype":"bf16")", R"(,"alibi":"standard")");

  // K and V that differ.
  c.add("Fp16AndInt8", {4, 2, 64, 1},
        R"("k":{"dtype":"fp16"},"v":{"dtype":"int8","symmetric":false})");
  c.add("Int4AndE4m3", {4, 2, 128, 1},
        R"("k":{"dtype":"int4","granularity":"group","group_size":32},"v":{"dtype":"fp8_e4m3"})");
  c.add("Nvfp4", {8, 2, 128, 1}, R"("dtype":"nvfp4","page_size":16)", R"(,"log_sum_exp":true)");
  c.add("Nvfp4OfTwoParts", {20, 1, 128, 1}, R"("dtype":"nvfp4","layout":"contiguous")",
        R"(,"alibi":"given")");
  c.add("Nvfp4InHeadsOf64", {6, 2, 64, 3}, R"("dtype":"nvfp4","layout":"contiguous")",
        R"(,"window":100,"sink_tokens":5)");
  c.add("Nvfp4InHeadsOf256", {4, 2, 256, 2}, R"("dtype":"nvfp4","page_size":24,"order":"nhd")",
        R"(,"sink_logits":true)");
  c.add("Nvfp4AndInt4", {16, 1, 128, 1}, R"("k":{"dtype":"nvfp4"},"v":{"dtype":"int4"})",
        R"(,"alibi":"standard")");
  c.add("Int8AndNvfp4", {4, 2, 128, 1},
        R"("k":{"dtype":"int8","granularity":"group","group_size":64},"v":{"dtype":"nvfp4"})",
        R"(,"softcap":20)");

  // Scales of K per channel: blocks of a tile, of several, of a page; K's order in all its kinds.
  c.add("Int8Channel", {8, 2, 64, 1}, R"("k":{"granularity":"channel","group_size":32})");
  c.add("Int8ChannelZeros", {6, 2, 80, 3},
        R"("k":{"granularity":"channel","group_size":64,"symmetric":false},"order":"nhd",)"
        R"("page_size":128)",
        R"(,"log_sum_exp":true)");
  c.add("Int4Channel", {4, 2, 128, 1},
        R"("k":{"dtype":"int4","granularity":"channel","group_size":128},"v":{"dtype":"int4"},)"
        R"("layout":"contiguous")",
        R"(,"window":100,"sink_tokens":40)");
  c.add("Int4ChannelZeros", {4, 2, 96, 2},
        R"("k":{"dtype":"int4","granularity":"channel","group_size":64,"symmetric":false,)"
        R"("scale_dtype":"fp32"},"v":{"dtype":"int4","symmetric":false},"order":"nhd")",
        R"(,"alibi":"standard","log_sum_exp":true)");
  c.add("Int2ChannelZeros", {4, 2, 64, 8},
        R"("k":{"dtype":"int2","granularity":"channel","group_size":32,"symmetric":false},)"
        R"("v":{"dtype":"int2","granularity":"group","symmetric":false})",
        R"(,"softcap":20)");
  c.add("Int2Channel", {4, 2, 128, 1},
        R"("k":{"dtype":"int2","granularity":"channel","group_size":96},"v":{"dtype":"bf16"},)"
        R"("page_size":96)");
  c.add("E4m3Channel", {4, 1, 128, 4},
        R"("k":{"dtype":"fp8_e4m3","granularity":"channel","group_size":64},)"
        R"("v":{"dtype":"fp8_e4m3"},"layout":"contiguous","order":"nhd")");
  c.add("E5m2Channel", {4, 2, 80, 1},
        R"("k":{"dtype":"fp8_e5m2","granularity":"channel","group_size":32},)"
        R"("v":{"dtype":"int8","granularity":"token"})",
        R"(,"sink_logits":true,"log_sum_exp":true)");
  c.add("Int8ChannelOfLargeHeads", {4, 2, 256, 2},
        R"("k":{"granularity":"channel","group_size":32,"symmetric":false},"v":{"dtype":"int8"})",
        R"(,"window":300)");

  c.add("Int4ChannelTwoRowTiles", {20, 1, 64, 1},
        R"("k":{"dtype":"int4","granularity":"channel","group_size":64,"symmetric":false},)"
        R"("v":{"dtype":"int4"})");

  // Two row tiles, and a head whose rows two blocks share.
  c.add("TwoRowTiles", {4, 1, 64, 4}, R"("dtype":"int4","symmetric":false)",
        R"(,"log_sum_exp":true)");
  c.add("TwoParts", {20, 1, 64, 1}, R"("dtype":"int8","page_size":16)", R"(,"alibi":"standard")");

  // Blocks of more warps than four, which some specs have for long sequences.
  c.add("Int4OfWideBlocks", {8, 2, 128, 1}, R"("dtype":"int4")").wide = true;
  c.add("Int4OfWideBlocksInHeadsOf64", {8, 2, 64, 1}, R"("dtype":"int4","page_size":16)",
        R"(,"log_sum_exp":true)")
      .wide = true;

  // So many blocks that they are merged in two turns, of which the second has the largest logits.
  AttentionCase& many = c.add("ManyBlocks", {2, 1, 256, 1}, R"("dtype":"fp16")",
                              R"(,"alibi":"standard","log_sum_exp":true)");
  many.sm_count = 34;
  many.shared = 2140;

  // Blocks of six warps, with four groups and with two.
  c.add("Int4GroupOfWideBlocks", {4, 2, 128, 1},
        R"("dtype":"int4","granularity":"group","group_size":32)")
      .wide = true;
  c.add("Int4TwoGroupsOfWideBlocks", {8, 2, 128, 1},
        R"("dtype":"int4","granularity":"group","group_size":64)")
      .wide = true;
  return std::move(c.cases);
}

Target target_of(const AttentionCase& one) {
  Target target = target_from_name("h200");
  target.sm_count = one.sm_count;
  return target;
}

}  // namespace

Plan AttentionCase::plan() const {
  Plan plan = resolve(spec, target_of(*this));
  const PlannedKernel first = plan.kernels.front();
  if (!wide) {
    plan.kernels = {first};
    return plan;
  }
  for (const Candidate& one : all_candidates(plan, {1, plan.kernels.back().size_max})) {
    if (config_of<device::DecodeAttentionConfig>(one.kernel).warps <= 4) continue;
    plan.kernels = {planned_kernel(plan, one.kernel, first.name)};
    return plan;
  }
  throw std::logic_error(name + " has no kernel of wide blocks");
}

const std::vector<AttentionCase>& attention_cases() {
  static const std::vector<AttentionCase> cases = make_attention_cases();
  return cases;
}

}  // namespace heddle
