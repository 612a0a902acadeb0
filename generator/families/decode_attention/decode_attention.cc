// Attention of each sequence's last tokens over a quantised cache of K and V.
#include "generator/operations/decode_attention/decode_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/decode_attention/config.h"
#include "generator/families/decode_attention/cost.h"
#include "generator/families/decode_attention/refusals.h"
#include "generator/families/decode_attention/schedule.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/fields_json.h"
#include "generator/families/kv_name.h"
#include "generator/families/value_type.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::DecodeAttentionConfig;
using device::kAttentionTile;
using device::kMostClusterSequences;

std::vector<Problem> problems_of(const DecodeAttentionSpec& attention, const Target& target) {
  const bool makes_sense = check_meaning(attention).empty();
  std::vector<Problem> problems;
  if (makes_sense) problems = refuse_attention_tensors(attention);
  if (!has_async_copies(target)) {
    problems.push_back({"", fmt::format("no attention kernel serves target {}", target.name),
                        fmt::format("sm_{}", target.arch()), "sm_80 and up", ""});
  }
  if (makes_sense && problems.empty() && attention_choices(attention, target).empty()) {
    problems.push_back({"/shape/head_dim",
                        fmt::format("two tiles of 32 tokens have no room in the {} bytes of shared "
                                    "memory of {}",
                                    target.shared_per_block, target.name),
                        fmt::format("{}", attention.shape.head_dim), "smaller heads or codes", ""});
  }
  return problems;
}

std::string attention_kernel_name(const DecodeAttentionSpec& spec) {
  const std::string types = kv_name(spec.kv);
  return fmt::format("heddle_decode_attention_{}_{}_h{}_{}_d{}", to_string(spec.activation), types,
                     spec.shape.heads, spec.shape.kv_heads, spec.shape.head_dim);
}

// What becomes of the scales and zero points of K or V.
std::string folding(const char* name, const KvTensor& tensor, bool is_key) {
  const char* into = is_key ? "the logits" : "P";
  if (tensor.dtype == KvDtype::kNvfp4) {
    return fmt::format("{}: codes times the scales of their groups of {}; the factor into {}", name,
                       tensor.group_size, is_key ? "the logits" : "the output");
  }
  std::string text;
  switch (tensor.granularity) {
    case KvGranularity::kTensor:
      text = fmt::format("{}: one scale, into {}", name, is_key ? "the logits" : "the output");
      break;
    case KvGranularity::kToken:
    case KvGranularity::kHead:
      text = fmt::format("{}: a scale per token, into {}", name, into);
      break;
    case KvGranularity::kGroup:
      text = is_key ? fmt::format("{}: a sum for each group of {} elements, then its scale", name,
                                  tensor.group_size)
                    : fmt::format("{}: P once for each group of {} elements, with its scale", name,
                                  tensor.group_size);
      break;
    case KvGranularity::kChannel:
      text = fmt::format("{}: scales of {} tokens' channels, into Q; the last tokens as they are",
                         name, tensor.group_size);
      if (!tensor.symmetric) text += "; zero points times that Q";
      return text;
    default:
      return fmt::format("{}: as it is", name);
  }
  if (!tensor.symmetric) {
    text += is_key ? "; zero points times the sum of Q" : "; zero points times the sum of P";
  }
  return text;
}

// Thread blocks of a launch at most: as many as the device runs at the same time.
int most_blocks(const Plan& plan, const PlannedKernel& kernel) noexcept {
  return plan.target.sm_count * kernel.blocks_per_sm;
}

std::vector<std::string> attention_reasons(const Plan& plan) {
  const DecodeAttentionSpec& spec = plan.spec.decode_attention();
  const PlannedKernel& first = plan.kernels.front();
  const PlannedKernel& last = plan.kernels.back();
  const auto& config = config_of<DecodeAttentionConfig>(first);
  std::vector<std::string> reasons = {
      fmt::format("{} queries share a head of K and V; a block multiplies {} of them at a time",
                  config.rows(), config.block_rows()),
      fmt::format("{} stages of {} bytes a warp, {} blocks of {} warps per SM", config.stages,
                  config.stage_bytes(), first.blocks_per_sm, config.warps),
      fmt::format("{} blocks, each of which takes an equal part of all tiles of 32 tokens, "
                  "whatever the lengths",
                  most_blocks(plan, first)),
      fmt::format("workspace: {} bytes", config.workspace_bytes()),
      folding("K", spec.kv.k, true),
      folding("V", spec.kv.v, false)};
  if (plan.kernels.size() > 1) {
    reasons.push_back(
        fmt::format("sequences that may have {} tokens: {} blocks of {} warps, which leave fewer "
                    "partial results to merge",
                    device::ceil_div(last.size_min, kAttentionTile) * kAttentionTile,
                    most_blocks(plan, last), config_of<DecodeAttentionConfig>(last).warps));
  }
  if (config.most_cluster > 1 && first.blocks_per_sm > 1) {
    reasons.push_back(
        fmt::format("few short sequences, {} at most: each head of one to a cluster of up to {} "
                    "blocks, which add in shared memory",
                    kMostClusterSequences, config.most_cluster));
  }
  return reasons;
}

class DecodeAttention final : public Family {
 public:
  std::string_view name() const noexcept override { return "decode_attention"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*sizes*/) const override {
    return problems_of(spec.decode_attention(), target);
  }

  // From the first long sequence on blocks work in pairs, and clusters take no whole problems.
  std::vector<std::int64_t> steps(const Plan& plan, const MRange& sizes) const override {
    if (!is_hopper(plan.target) || sizes.max < kFirstLongSequence) return {sizes.max};
    return {kFirstLongSequence - 1, sizes.max};
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& sizes) const override {
    std::vector<PlannedKernel> kernels;
    for (const auto& [config, blocks_per_sm] :
         attention_choices(plan.spec.decode_attention(), plan.target)) {
      PlannedKernel kernel;
      kernel.size_min = sizes.min;
      kernel.size_max = sizes.max;
      kernel.family = this;
      kernel.configuration = make_configuration(config);
      kernel.threads = config.threads();
      kernel.shared_bytes = config.shared_bytes();
      kernel.blocks_per_sm = blocks_per_sm;
      kernel.starts_early = config.dependent;
      kernel.arguments = {KernelArgument::kParameters};
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

  // The kernels of a plan have the slots of their partial results at the same places of one
  // workspace.
  void complete(const Plan& plan, PlannedKernel& candidate) const override {
    DecodeAttentionConfig config = config_of<DecodeAttentionConfig>(candidate);
    config.most_blocks = most_blocks(plan, candidate);
    for (const PlannedKernel& kernel : plan.kernels) {
      config.most_blocks = std::max(config.most_blocks, most_blocks(plan, kernel));
    }
    candidate.configuration = make_configuration(config);
  }

  std::string kernel_name(const Plan& plan, const PlannedKernel& kernel) const override {
    const char* const end = kernel.size_min > 1 ? "_long" : "";
    return attention_kernel_name(plan.spec.decode_attention()) + end;
  }

  const std::vector<CostParameter>& cost_parameters() const noexcept override {
    return attention_cost_parameters();
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size,
                      Costs costs) const override {
    return attention_us(plan.target, config_of<DecodeAttentionConfig>(kernel), kernel.blocks_per_sm,
                        size, costs);
  }

  std::string label(const PlannedKernel& kernel) const override {
    const auto& config = config_of<DecodeAttentionConfig>(kernel);
    return fmt::format("warps {} stages {} blocks {}", config.warps, config.stages,
                       kernel.blocks_per_sm);
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    return attention_reasons(plan);
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    KernelText text;
    text.template_path = "decode_attention/decode_attention.cuh";
    for (const std::string& reason : attention_reasons(plan)) text.decisions += reason + '\n';
    text.definitions = families::config_struct(
        "DecodeAttentionConfig", config_of<DecodeAttentionConfig>(kernel),
        {"using Value = " + value_type(plan.spec.decode_attention().activation) + ';'});
    text.function = "decode_attention<heddle::Config>";
    text.parameter_type = "AttentionParameters";
    return text;
  }

  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const AttentionSchedule schedule = attention_schedule(
        plan.target, config_of<DecodeAttentionConfig>(kernel), kernel.blocks_per_sm, size);
    return {static_cast<unsigned>(schedule.blocks), 1, 1, static_cast<unsigned>(schedule.cluster)};
  }

  std::size_t max_workspace_bytes(const Plan& /*plan*/,
                                  const PlannedKernel& kernel) const noexcept override {
    return static_cast<std::size_t>(config_of<DecodeAttentionConfig>(kernel).workspace_bytes());
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& config = config_of<DecodeAttentionConfig>(kernel);
    return fmt::format("tiles of {} tokens x {} elements, {} warps, {} stages", kAttentionTile,
                       config.k.head_dim, config.warps, config.stages);
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    return fmt::format("{}x{}", kAttentionTile,
                       config_of<DecodeAttentionConfig>(kernel).k.head_dim);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<DecodeAttentionConfig>(kernel));
  }
};

}  // namespace

const Family* decode_attention_family() {
  static const DecodeAttention family;
  return &family;
}

}  // namespace heddle
