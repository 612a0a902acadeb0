// W[N, K] in 16 bits to packed weights.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "generator/decode/float16.h"
#include "generator/decode/requests.h"
#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/matrix_tiles.h"
#include "generator/families/packed_layout.h"
#include "generator/families/packing_text.h"
#include "generator/families/scale_type.h"
#include "generator/families/value_type.h"
#include "generator/families/weight_op.h"
#include "generator/layout/rounding_rule.h"
#include "quantize_weight/config.h"

namespace heddle {
namespace {

using device::QuantizeWeightConfig;

constexpr int kThreadsOfAnSm = 1024;      // 64 registers each
constexpr int kBlockThreadsOfAnSm = 512;  // 128: a thread holds 64 values of a block

// The shortest run of whole chunks that is whole groups, too.
int span_columns(const device::PackedLayout& packed) {
  const std::int64_t whole = std::int64_t{packed.chunks} * device::Chunk::kColumns;
  const std::int64_t run = std::lcm<std::int64_t>(packed.group, device::Chunk::kColumns);
  return static_cast<int>(std::min(run, whole));
}

QuantizeWeightConfig config_for(const WeightOpSpec& spec, const WeightLayout& layout) {
  const RoundingRule rule = rounding_rule(spec.weight);
  const SmallFloat& code = rule.code_float;
  QuantizeWeightConfig config{};
  config.packed = packed_layout(spec, layout);
  const int rows = config.packed.by_blocks() ? kBlockRows : device::Chunk::kRows;
  config.tiles = {static_cast<int>(spec.shape.n), static_cast<int>(spec.shape.k), rows,
                  span_columns(config.packed)};
  config.infinity = float16_format(spec.dtype).exponent_mask();
  config.nan_scale = static_cast<int>(nan_scale(spec.weight.scale_dtype));
  config.scale_type = scale_type(spec.weight.scale_dtype);
  config.float_codes = rule.is_float;
  config.floats = {code.exponent_bits, code.mantissa_bits, static_cast<int>(code.largest)};
  config.integers = {rule.asymmetric, rule.low, rule.high, rule.bias, rule.divisor};
  return config;
}

bool stores_rows(const QuantizeWeightConfig& config) {
  return config.packed.order == device::ChunkOrder::kSwizzledRows;
}

std::vector<std::string> explain(const QuantizeWeightConfig& config) {
  if (config.packed.by_blocks()) {
    return {"a block takes 128 rows and 128 columns, which share a scale",
            "W is read once: its values stay in registers until their scale is known"};
  }
  return {fmt::format("a block takes 16 rows and {} columns: whole chunks that are whole groups",
                      config.tiles.columns),
          fmt::format("{} chunks at a time, {} threads to a chunk", config.step_chunks(),
                      QuantizeWeightConfig::kChunkThreads),
          "W is read twice, the second time from the caches: a scale is needed before the first "
          "code"};
}

class QuantizeWeight final : public families::MatrixTilesFamily<QuantizeWeightConfig> {
 public:
  std::string_view name() const noexcept override { return "quantize_weight"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*sizes*/) const override {
    std::vector<Problem> problems = refuse_weight_op(spec.weight_op(), target, "/input/dtype");
    for (Problem& problem : refuse_rounding(spec.weight_op().weight)) {
      problems.push_back(std::move(problem));
    }
    return problems;
  }

  void prepare(Plan& plan) const override {
    const WeightOpSpec& spec = plan.spec.weight_op();
    plan.layout = weight_layout(spec.shape, spec.weight);
    // The order inside a word does not depend on what codes decode to. Rows have no words.
    if (!stores_rows(config_for(spec, plan.layout))) {
      plan.decode = derive_decode_plan(decode_request(spec.weight, DType::kFp16));
    }
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& /*sizes*/) const override {
    const QuantizeWeightConfig config = config_for(plan.spec.weight_op(), plan.layout);
    const int threads_of_an_sm = config.packed.by_blocks() ? kBlockThreadsOfAnSm : kThreadsOfAnSm;
    PlannedKernel kernel;
    kernel.family = this;
    kernel.configuration = make_configuration(config);
    kernel.threads = config.threads();
    kernel.shared_bytes = config.shared_bytes();
    kernel.blocks_per_sm = blocks_that_fit(plan.target, kernel.threads, kernel.shared_bytes,
                                           threads_of_an_sm / kernel.threads);
    kernel.arguments = {KernelArgument::kW, KernelArgument::kPacked};
    return {std::move(kernel)};
  }

  std::string kernel_name(const Plan& plan, const PlannedKernel& /*kernel*/) const override {
    return weight_op_kernel_name(plan.spec, to_string(plan.spec.weight_op().dtype));
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    return explain(config_of<QuantizeWeightConfig>(plan.kernels.front()));
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& config = config_of<QuantizeWeightConfig>(kernel);
    const std::string value = "using Value = " + value_type(plan.spec.weight_op().dtype) + ';';
    const std::string definition = families::config_struct("QuantizeWeightConfig", config, {value});
    if (stores_rows(config)) return text_of_rows(config, definition);
    KernelText text = families::packing_text(plan, config.tiles, definition);
    text.template_path = "quantize_weight/quantize_weight.cuh";
    text.function = "quantize_weight<heddle::Config, heddle::Encode>";
    return text;
  }

 private:
  static KernelText text_of_rows(const QuantizeWeightConfig& config,
                                 const std::string& definition) {
    const bool by_blocks = config.packed.by_blocks();
    KernelText text;
    text.template_path =
        by_blocks ? "quantize_weight/quantize_blocks.cuh" : "quantize_weight/quantize_rows.cuh";
    text.decisions = families::describe(config.tiles) + '\n';
    text.definitions = definition;
    text.function = by_blocks ? "quantize_blocks<heddle::Config>" : "quantize_rows<heddle::Config>";
    return text;
  }
};

}  // namespace

const Family* quantize_weight_family() {
  static const QuantizeWeight family;
  return &family;
}

}  // namespace heddle
