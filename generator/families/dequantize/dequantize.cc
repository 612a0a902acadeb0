// Quantised weights to W[N, K] in 16 bits.
#include <fmt/format.h>

#include <utility>
#include <variant>

#include "generator/decode/decode_text.h"
#include "generator/decode/requests.h"
#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/dequantize/dequantize_config.h"
#include "generator/families/family.h"
#include "generator/families/matrix_tiles.h"
#include "generator/families/value_type.h"
#include "generator/families/weight_op.h"

namespace heddle {
namespace {

bool is_gptq(CheckpointFormat format) {
  return format == CheckpointFormat::kGptq || format == CheckpointFormat::kGptqV2;
}

// The order of the codes is the checkpoint's; the spec's is that of packed weights.
std::vector<Problem> refuse_order(const WeightOpSpec& spec) {
  // check_meaning() refuses rows of codes.
  if (spec.format == CheckpointFormat::kHeddle || spec.weight.interleave == Interleave::kFragment ||
      spec.weight.interleave == Interleave::kSwizzle128b) {
    return {};
  }
  return {{"/weight/interleave", "the checkpoint's format decides the order of codes",
           fmt::format("\"{}\"", to_string(spec.weight.interleave)), "\"fragment\"", ""}};
}

DecodeRequest request_of(const WeightOpSpec& spec) {
  WeightSpec weight = spec.weight;
  // A row's codes lie one after the other: the permuted units are whole loads.
  if (weight.interleave == Interleave::kSwizzle128b) weight.interleave = Interleave::kLinear;
  DecodeRequest request = decode_request(weight, spec.dtype);
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

bool scales_in_place(const DequantizeConfig& config) {
  return std::visit(
      [](const auto& c) { return c.scaling.product == device::ScaleProduct::kPacked; }, config);
}

const device::MatrixTiles& tiles_of(const PlannedKernel& kernel) {
  return std::visit([](const auto& c) -> const device::MatrixTiles& { return c.tiles; },
                    config_of<DequantizeConfig>(kernel));
}

// Whether a unit of GPTQ's codes has columns of several groups, whose scales are all in registers.
bool units_span_groups(const DequantizeConfig& config) {
  const auto* const gptq = std::get_if<device::DequantizeGptqConfig>(&config);
  return gptq != nullptr && !gptq->runs_lie_in_groups(gptq->unit);
}

// What the registers allow without spills, at 128 threads to a block: the more blocks, the more
// loads are in flight. 8 leaves a thread 64 registers, 4 leaves 128, 2 leaves 255.
int blocks_per_sm(const WeightOpSpec& spec, const DequantizeConfig& config, bool in_place) {
  const WeightSpec& weight = spec.weight;
  if (weight.bits == 3 && (spec.act_order || units_span_groups(config))) return 2;
  const bool narrow = spec.format != CheckpointFormat::kAwq && weight.bits == 4 &&
                      weight.group_size != 16 && !spec.act_order;
  return narrow && in_place ? 8 : 4;
}

std::vector<std::string> explain(const WeightOpSpec& spec, bool in_place) {
  std::vector<std::string> reasons;
  if (in_place) {
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

std::string scale_struct(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return "ScaleFp16";
    case DType::kBf16:
      return "ScaleBf16";
    case DType::kFp32:
      return "ScaleFp32";
    case DType::kE8m0:
      return "ScaleE8m0";
    case DType::kE4m3:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  return "ScaleE4m3";
}

// The template of a configuration: its file, its function, the name of its struct.
struct Template {
  std::string_view path;
  std::string_view function;
  std::string_view config;
};
Template template_of(const device::DequantizePackedConfig& /*config*/) {
  return {"dequantize/dequantize_packed.cuh", "dequantize_packed", "DequantizePackedConfig"};
}
Template template_of(const device::DequantizeSwizzledConfig& /*config*/) {
  return {"dequantize/dequantize_swizzled.cuh", "dequantize_swizzled", "DequantizeSwizzledConfig"};
}
Template template_of(const device::DequantizeGptqConfig& /*config*/) {
  return {"dequantize/dequantize_gptq.cuh", "dequantize_gptq", "DequantizeGptqConfig"};
}
Template template_of(const device::DequantizeAwqConfig& /*config*/) {
  return {"dequantize/dequantize_awq.cuh", "dequantize_awq", "DequantizeAwqConfig"};
}

template <class Config>
KernelText text_of(const Plan& plan, const Config& config) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  const Template used = template_of(config);
  KernelText text;
  text.template_path = used.path;
  text.decisions = families::describe(config.tiles) + "\n\ndecode plan: " + describe(plan.decode);
  text.definitions =
      families::config_struct(used.config, config,
                              {"using Value = " + value_type(spec.dtype) + ';',
                               "using Scale = " + scale_struct(spec.weight.scale_dtype) + ';'}) +
      '\n' + decode_text(plan.decode);
  text.function = fmt::format("{}<heddle::Config, heddle::Decode>", used.function);
  return text;
}

class Dequantize final : public Family {
 public:
  std::string_view name() const noexcept override { return "dequantize"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*sizes*/) const override {
    std::vector<Problem> problems = refuse_weight_op(spec.weight_op(), target, "/output/dtype");
    for (Problem& problem : refuse_order(spec.weight_op())) problems.push_back(std::move(problem));
    return problems;
  }

  void prepare(Plan& plan) const override {
    const WeightOpSpec& spec = plan.spec.weight_op();
    plan.decode = derive_decode_plan(request_of(spec));
    plan.layout = weight_layout(spec.shape, spec.weight);
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& /*sizes*/) const override {
    const WeightOpSpec& spec = plan.spec.weight_op();
    const DequantizeConfig config = dequantize_config(plan);
    const bool in_place = scales_in_place(config);

    PlannedKernel kernel;
    kernel.family = this;
    kernel.configuration = make_configuration(config);
    kernel.threads = std::visit([](const auto& c) { return c.threads(); }, config);
    kernel.shared_bytes = std::visit([](const auto& c) { return c.shared_bytes(); }, config);
    kernel.blocks_per_sm = blocks_per_sm(spec, config, in_place);
    kernel.arguments = {KernelArgument::kWeights, KernelArgument::kScales, KernelArgument::kZeros,
                        KernelArgument::kOrder, KernelArgument::kW};
    return {std::move(kernel)};
  }

  std::string kernel_name(const Plan& plan, const PlannedKernel& /*kernel*/) const override {
    const WeightOpSpec& spec = plan.spec.weight_op();
    return weight_op_kernel_name(
        plan.spec, fmt::format("{}_{}", to_string(spec.format), to_string(spec.dtype)));
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    return explain(plan.spec.weight_op(),
                   scales_in_place(config_of<DequantizeConfig>(plan.kernels.front())));
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    return std::visit([&](const auto& config) { return text_of(plan, config); },
                      config_of<DequantizeConfig>(kernel));
  }
  // The blocks of a launch cover W.
  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& /*size*/) const noexcept override {
    return families::tile_grid(tiles_of(kernel));
  }

  std::string describe(const PlannedKernel& kernel) const override {
    return families::describe(tiles_of(kernel));
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    return families::tile_text(tiles_of(kernel));
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return std::visit([](const auto& config) { return families::fields_json(config); },
                      config_of<DequantizeConfig>(kernel));
  }
};

}  // namespace

const Family* dequantize_family() {
  static const Dequantize family;
  return &family;
}

}  // namespace heddle
