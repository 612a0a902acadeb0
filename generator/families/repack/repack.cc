// The tensors of an AWQ or GPTQ checkpoint to packed weights.
#include <fmt/format.h>

#include <utility>

#include "generator/decode/encode_moves.h"
#include "generator/decode/requests.h"
#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/matrix_tiles.h"
#include "generator/families/packed_layout.h"
#include "generator/families/packing_text.h"
#include "generator/families/weight_op.h"
#include "repack/config.h"

namespace heddle {
namespace {

using device::RepackConfig;
using device::RepackSource;

constexpr int kThreadsOfAnSm = 1024;  // 64 registers each

// Small blocks leave no tail at the end of a matrix; AWQ, with eight rows to a word, needs 256 rows
// for whole lines of memory.
int tile_rows(CheckpointFormat format) { return format == CheckpointFormat::kAwq ? 256 : 128; }

RepackConfig config_for(const WeightOpSpec& spec, const WeightLayout& layout) {
  RepackConfig config{};
  config.tiles = {static_cast<int>(spec.shape.n), static_cast<int>(spec.shape.k),
                  tile_rows(spec.format), device::Chunk::kColumns};
  config.packed = packed_layout(spec, layout);
  config.source = spec.format == CheckpointFormat::kAwq ? RepackSource::kAwq
                  : spec.act_order                      ? RepackSource::kGptqGather
                                                        : RepackSource::kGptq;
  config.zero_bias = spec.format == CheckpointFormat::kGptq ? 1 : 0;
  return config;
}

std::vector<std::string> explain(const WeightOpSpec& spec, const RepackConfig& config,
                                 const DecodePlan& decode) {
  const int rows = config.tiles.rows;
  std::vector<std::string> reasons = {
      fmt::format("tiles of {} rows: {} words of a row of the checkpoint are whole lines of 128 "
                  "bytes",
                  rows, config.source == RepackSource::kAwq ? rows / 8 : rows),
      "codes stay in shared memory, a byte each, until a warp packs 16 rows of them: a lane then "
      "finds its 32 codes of 64 columns in two accesses",
      fmt::format("packing takes {:.3g} instructions per weight, one for all bits that travel the "
                  "same way",
                  encode_cost(decode))};
  if (spec.act_order) {
    reasons.emplace_back(
        "act-order: each code is gathered by its column; neighbouring lanes still read "
        "neighbouring words");
  }
  return reasons;
}

class Repack final : public families::MatrixTilesFamily<RepackConfig> {
 public:
  std::string_view name() const noexcept override { return "repack"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*sizes*/) const override {
    return refuse_weight_op(spec.weight_op(), target, {});
  }

  void prepare(Plan& plan) const override {
    const WeightOpSpec& spec = plan.spec.weight_op();
    // The order inside a word does not depend on what codes decode to.
    plan.decode = derive_decode_plan(decode_request(spec.weight, DType::kFp16));
    plan.layout = weight_layout(spec.shape, spec.weight);
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& /*sizes*/) const override {
    const RepackConfig config = config_for(plan.spec.weight_op(), plan.layout);
    PlannedKernel kernel;
    kernel.family = this;
    kernel.configuration = make_configuration(config);
    kernel.threads = config.threads();
    kernel.shared_bytes = config.shared_bytes();
    kernel.blocks_per_sm = blocks_that_fit(plan.target, kernel.threads, kernel.shared_bytes,
                                           kThreadsOfAnSm / kernel.threads);
    kernel.arguments = {KernelArgument::kWeights, KernelArgument::kScales, KernelArgument::kZeros,
                        KernelArgument::kPermutation, KernelArgument::kPacked};
    return {std::move(kernel)};
  }

  std::string kernel_name(const Plan& plan, const PlannedKernel& /*kernel*/) const override {
    return weight_op_kernel_name(plan.spec, to_string(plan.spec.weight_op().format));
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    return explain(plan.spec.weight_op(), config_of<RepackConfig>(plan.kernels.front()),
                   plan.decode);
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& config = config_of<RepackConfig>(kernel);
    KernelText text = families::packing_text(plan, config.tiles,
                                             families::config_struct("RepackConfig", config, {}));
    text.template_path = "repack/repack.cuh";
    text.function = "repack<heddle::Config, heddle::Encode>";
    return text;
  }
};

}  // namespace

const Family* repack_family() {
  static const Repack family;
  return &family;
}

}  // namespace heddle
