#include "generator/planner/resolve_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "generator/families/gather/gather.h"
#include "generator/planner/bulk.h"
#include "generator/planner/default_tile.h"
#include "generator/planner/few_tile.h"
#include "generator/planner/gemm_variant.h"
#include "generator/planner/kernel_name.h"
#include "generator/planner/refuse.h"
#include "generator/planner/refuse_if_any.h"
#include "generator/planner/same_kernel.h"
#include "generator/planner/scale_mode.h"
#include "generator/planner/stage.h"
#include "generator/planner/stream.h"
#include "generator/planner/wgmma.h"
#include "generator/planner/wide_tile.h"
#include "generator/spec/meaning.h"
#include "generator/target/capabilities.h"
#include "heddle/error.h"
#include "heddle/plan.h"

namespace heddle {
namespace {

// The path of kernels that walk tiles.
Path tile_path(const GemmSpec& spec, const Target& target) {
  if (spec.path == Path::kTuring || spec.path == Path::kAmpere) return spec.path;
  return has_async_copies(target) ? Path::kAmpere : Path::kTuring;
}

std::string kernel_name(const GemmSpec& spec, const GemmVariant& v) {
  return fmt::format("heddle_gemm_{}_{}_n{}_k{}_m{}_{}", weight_name(spec.weight),
                     to_string(spec.activation), spec.shape.n, spec.shape.k, v.m_min, v.m_max);
}

GemmVariant tile_variant(const Spec& spec, const Target& target, const WeightLayout& layout,
                         std::int64_t m_min, std::int64_t m_max) {
  const GemmSpec& gemm = spec.gemm();
  const Path path = tile_path(gemm, target);
  if (const auto wide = wide_tile(gemm, target, layout, path, m_min, m_max)) {
    refuse_if_any(spec, refuse_tile(gemm, target, layout, *wide));
    return *wide;
  }
  const auto few = few_tile(gemm, target, layout, path, m_min, m_max);
  GemmVariant v = few ? *few : default_tile(gemm, target, layout, path, m_min, m_max);
  refuse_if_any(spec, refuse_tile(gemm, target, layout, v));
  v.split_k = gemm.tile.split_k.value_or(choose_split_k(gemm, target, layout, v));
  refuse_if_any(spec, refuse_tile(gemm, target, layout, v));
  return v;
}

GemmVariant choose_variant(const Spec& spec, const Target& target, const WeightLayout& layout,
                           std::int64_t m_min, std::int64_t m_max) {
  const GemmSpec& gemm = spec.gemm();
  if (const auto bulk = bulk_variant(gemm, target, layout, m_min, m_max)) {
    refuse_if_any(spec, refuse_bulk(gemm, target, layout, *bulk));
    return *bulk;
  }
  if (!wgmma_serves(gemm, target, m_min)) return tile_variant(spec, target, layout, m_min, m_max);
  GemmVariant v = wgmma_variant(gemm, target, layout, m_min, m_max);
  refuse_if_any(spec, refuse_wgmma(gemm, target, v));
  return v;
}

std::vector<GemmVariant> choose_variants(const Spec& spec, const Target& target,
                                         const WeightLayout& layout) {
  const GemmSpec& gemm = spec.gemm();
  std::vector<GemmVariant> variants;
  for (std::int64_t m_min = gemm.shape.m_min; m_min <= gemm.shape.m_max;) {
    const std::int64_t m_max = std::min(m_range_end(m_min), gemm.shape.m_max);
    std::optional<GemmVariant> v = stream_variant(gemm, target, layout, m_min);
    if (!v && variants.empty() && gemm.path == Path::kHopper &&
        !wgmma_serves(gemm, target, m_min) && !bulk_variant(gemm, target, layout, m_min, m_max)) {
      refuse_if_any(spec, refuse_stream(gemm));
    }
    if (!v) v = choose_variant(spec, target, layout, m_min, m_max);
    m_min = v->m_max + 1;
    // Streams hold as many tokens as their range has.
    const bool merges = v->kernel != GemmKernel::kStream && !variants.empty();
    if (merges && is_same_kernel(variants.back(), *v)) {
      variants.back().m_max = v->m_max;
    } else {
      variants.push_back(*v);
    }
  }
  for (GemmVariant& v : variants) v.name = kernel_name(gemm, v);
  return variants;
}

// What the order of the codes costs against Heddle's own.
std::string describe_interleave(const GemmSpec& spec, const DecodePlan& decode) {
  WeightSpec own = spec.weight;
  own.interleave = Interleave::kFragment;
  own.permutation.clear();
  const double fragment =
      derive_decode_plan(decode_request(own, spec.activation)).instructions_per_weight;
  const double more = decode.instructions_per_weight / fragment - 1;
  std::string text =
      fmt::format("interleave {}: {:.3f} instructions per weight, {:.3f} in the order fragment",
                  to_string(spec.weight.interleave), decode.instructions_per_weight, fragment);
  if (more > 0) text += fmt::format(": this order costs {:.0f} % more", 100 * more);
  if (spec.weight.interleave == Interleave::kTrtllm) {
    text += "; a lane's words lie apart, each is a load of 4 bytes";
  }
  return text;
}

std::vector<std::string> explain(const Plan& plan, const std::vector<GemmVariant>& variants) {
  std::vector<std::string> reasons;
  const GemmSpec& spec = plan.spec.gemm();
  reasons.push_back(fmt::format(
      "path {}: {}", to_string(variants.front().path),
      spec.path != Path::kAuto
          ? "forced by the spec"
          : "the newest that sm_" + std::to_string(plan.target.arch()) + " and this version have"));
  if (has_wgmma(plan.target) && !wgmma_serves(spec, plan.target, spec.shape.m_max)) {
    reasons.emplace_back(
        "no wgmma: it takes no float zero points, no pre_scale without act-order, and neither few "
        "tokens nor a tile unless the path is hopper");
  }
  if (plan.layout.groups_per_chunk == 0) {
    reasons.emplace_back("scale in the epilogue: it is the same for all of K");
  } else if (spec.weight.zero_point == ZeroPoint::kFloat) {
    reasons.emplace_back("scale on the FP32 sums: float zero points meet the sums of the tokens");
  } else if (!scales_weights_exactly(spec)) {
    reasons.push_back(fmt::format("scale on the FP32 sums: {} scales cannot multiply {} weights",
                                  to_string(spec.weight.scale_dtype), to_string(spec.activation)));
  } else {
    reasons.emplace_back(
        "scale on the FP32 sums of each group where that costs no more instructions than scaling "
        "the weights and the registers hold both sums, else on the weights");
  }
  reasons.push_back(fmt::format(
      "split_k: the smallest longest chain of stages on any of {} SMs, counting the start of each "
      "block and the exchange of sums",
      plan.target.sm_count));
  const auto is_fed = [](const GemmVariant& v) { return v.kernel == GemmKernel::kBulk; };
  if (std::any_of(variants.begin(), variants.end(), is_fed)) {
    reasons.emplace_back(
        "bulk: a block for each SM with an equal part of the rows and all of K, so that no sums "
        "are exchanged and no tokens need room for all of K");
  }
  const auto leaves_power = [&plan](const GemmVariant& v) {
    return v.fold_power && decode_plan_of(plan, v).result_exponent != 0;
  };
  if (std::any_of(variants.begin(), variants.end(), leaves_power)) {
    reasons.emplace_back("the power of two that decoded codes lack is part of the scale");
  }
  const auto scales = [](const GemmVariant& v) { return v.fold_scale; };
  if (std::any_of(variants.begin(), variants.end(), scales)) {
    reasons.emplace_back(
        "where the scale is on the weight, one operation takes off the bias and multiplies by it");
  }
  if (spec.weight.interleave != Interleave::kFragment) {
    reasons.push_back(describe_interleave(spec, plan.decode));
  }
  if (spec.act_order) {
    reasons.emplace_back(
        "act-order: a kernel before the GEMM puts the columns of X in the order of the packed "
        "weights; they are copied into shared memory 16 bytes at a time from there");
  }
  return reasons;
}

}  // namespace

void resolve_gemm(Plan& plan) {
  const GemmSpec& gemm = plan.spec.gemm();
  std::vector<Problem> problems = check_meaning(gemm);
  for (Problem& problem : refuse_pair(gemm, plan.target)) problems.push_back(std::move(problem));
  refuse_if_any(plan.spec, std::move(problems));
  plan.decode = derive_decode_plan(decode_request(gemm.weight, gemm.activation));
  plan.layout = weight_layout(gemm);
  const std::vector<GemmVariant> variants = choose_variants(plan.spec, plan.target, plan.layout);
  for (const GemmVariant& v : variants) plan.kernels.push_back(planned_kernel(plan, v));
  if (gemm.act_order) plan.before.push_back(gather_kernel(gemm));
  plan.reasons = explain(plan, variants);
}

}  // namespace heddle
