#include <fmt/format.h>

#include <utility>

#include "generator/families/all.h"
#include "generator/families/dequantize/text.h"
#include "generator/families/tile_kernel.h"
#include "generator/families/weight_op_kernel.h"
#include "generator/planner/refuse_if_any.h"
#include "generator/planner/stage.h"

namespace heddle {
namespace {

// How the kernels of the formats cut W; the templates check the sizes when they are compiled.
constexpr int kWarps = 4;
// A warp's chunk of packed weights, in shared memory: 16 rows of 256 bytes and 16 of padding.
constexpr int kChunkSharedBytes = WeightLayout::kRowBlock * (2 * WeightLayout::kChunkK + 16);

bool is_gptq(CheckpointFormat format) {
  return format == CheckpointFormat::kGptq || format == CheckpointFormat::kGptqV2;
}

// The order of the codes is the checkpoint's; the spec's is that of packed weights.
std::vector<Problem> refuse_order(const WeightOpSpec& spec) {
  if (spec.format == CheckpointFormat::kHeddle || spec.weight.interleave == Interleave::kFragment) {
    return {};
  }
  return {{"/weight/interleave", "the checkpoint's format decides the order of codes",
           fmt::format("\"{}\"", to_string(spec.weight.interleave)), "\"fragment\"", ""}};
}

// Whether one product in 16 bits is all that scaling takes.
bool scales_in_place(const WeightOpSpec& spec) {
  return spec.weight.scale_dtype == spec.dtype && !spec.weight.tensor_scale &&
         spec.weight.zero_point != ZeroPoint::kFloat;
}

DecodeRequest request_of(const WeightOpSpec& spec) {
  DecodeRequest request = decode_request(spec.weight, spec.dtype);
  if (is_gptq(spec.format)) {
    request.order = ElementOrder::kLinear;
    // Every column has a zero point of its own, which no unit shares.
    if (spec.act_order) request.zero_point = ZeroPoint::kNone;
  } else if (spec.format == CheckpointFormat::kAwq) {
    // The elements of a word are neighbouring rows, and so are those of a word of zero points.
    request.order = ElementOrder::kAwq;
    request.zero_order = ZeroOrder::kElements;
  }
  return request;
}

// A power of two up to `most` that leaves no warp without columns if possible.
int warps_along(std::int64_t size, int of_one, int most) {
  int warps = 1;
  while (warps < most && warps * of_one < size) warps *= 2;
  return warps;
}

TileKernel packed_tile(const MatrixShape& shape) {
  TileKernel kernel;
  const int along_k = warps_along(shape.k, WeightLayout::kChunkK, kWarps);
  kernel.tile_rows = WeightLayout::kRowBlock * (kWarps / along_k);
  kernel.tile_columns = WeightLayout::kChunkK * along_k;
  kernel.shared_bytes = kWarps * kChunkSharedBytes;
  return kernel;
}

// A warp has two lanes along N and sixteen along K; a lane has four rows and one unit or two.
TileKernel gptq_tile(const WeightOpSpec& spec, const DecodePlan& decode) {
  TileKernel kernel;
  const int steps = spec.act_order || decode.elements() > 8 ? 1 : 2;
  const int of_one = 16 * decode.elements() * steps;
  kernel.tile_rows = 8 * kWarps;
  kernel.tile_columns = of_one;
  return kernel;
}

// A warp has four lanes along N and eight along K; a lane has 16 rows and eight columns. Warps side
// by side along N read whole lines.
TileKernel awq_tile(const MatrixShape& shape) {
  TileKernel kernel;
  const int along_n = warps_along(shape.n, 64, kWarps);
  kernel.tile_rows = 64 * along_n;
  kernel.tile_columns = 64 * (kWarps / along_n);
  return kernel;
}

// What the registers allow without spills, at 128 threads to a block: the more blocks, the more
// loads are in flight. 8 leaves a thread 64 registers, 4 leaves 128, 2 leaves 255.
int blocks_per_sm(const WeightOpSpec& spec) {
  const WeightSpec& weight = spec.weight;
  const bool in_place = scales_in_place(spec);
  if (spec.act_order && weight.bits == 3) return 2;
  const bool narrow = spec.format != CheckpointFormat::kAwq && weight.bits == 4 &&
                      weight.group_size != 16 && !spec.act_order;
  return narrow && in_place ? 8 : 4;
}

TileKernel choose_tile(const Plan& plan) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  TileKernel kernel = spec.format == CheckpointFormat::kHeddle ? packed_tile(spec.shape)
                      : spec.format == CheckpointFormat::kAwq  ? awq_tile(spec.shape)
                                                               : gptq_tile(spec, plan.decode);
  kernel.threads = 32 * kWarps;
  kernel.blocks_per_sm = blocks_per_sm(spec);
  kernel.name = weight_op_kernel_name(
      plan.spec, fmt::format("{}_{}", to_string(spec.format), to_string(spec.dtype)));
  return kernel;
}

std::vector<std::string> explain(const WeightOpSpec& spec) {
  std::vector<std::string> reasons;
  if (scales_in_place(spec)) {
    reasons.push_back(
        fmt::format("scale in {}: one product is the one rounding", to_string(spec.dtype)));
  } else {
    reasons.emplace_back(
        "scale in FP32, exact or rounded to odd, so that the conversion to 16 bits is the one "
        "rounding");
  }
  if (spec.act_order) {
    reasons.emplace_back(spec.format == CheckpointFormat::kHeddle
                             ? "act-order: each column goes to its own place with 2-byte stores"
                             : "act-order: each column looks up its own scale and zero point");
  }
  return reasons;
}

TileKernel plan_dequantize(Plan& plan) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  std::vector<Problem> problems = refuse_weight_op(plan.spec, plan.target);
  for (Problem& problem : refuse_order(spec)) problems.push_back(std::move(problem));
  refuse_if_any(plan.spec, std::move(problems));
  plan.decode = derive_decode_plan(request_of(spec));
  plan.layout = weight_layout(spec.shape, spec.weight);
  TileKernel kernel = choose_tile(plan);
  plan.reasons = explain(spec);
  return kernel;
}

class Dequantize final : public TileKernelFamily {
 public:
  std::string_view name() const noexcept override { return "dequantize"; }
  bool plans(Op op) const noexcept override { return op == Op::kDequantize; }
  void plan(Plan& plan) const override {
    plan.kernels = {planned(plan_dequantize(plan),
                            {KernelArgument::kWeights, KernelArgument::kScales,
                             KernelArgument::kZeros, KernelArgument::kOrder, KernelArgument::kW})};
  }
  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    return dequantize_text(plan, tile_kernel_of(kernel));
  }
};

}  // namespace

const Family* dequantize_family() {
  static const Dequantize family;
  return &family;
}

}  // namespace heddle
