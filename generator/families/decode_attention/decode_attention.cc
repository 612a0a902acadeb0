// Attention of each sequence's last tokens over a quantised cache of K and V.
#include "generator/operations/decode_attention/decode_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/decode_attention/config.h"
#include "generator/families/decode_attention/refusals.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/fields_json.h"
#include "generator/families/kv_name.h"
#include "generator/families/value_type.h"
#include "generator/spec/refuse_if_any.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::DecodeAttentionConfig;
using device::kAttentionTile;
using device::kMostTeamSequences;

// Where sequences may have so many tiles the kernel of wide blocks takes them, if there is one.
constexpr int kLongTiles = 256;
// From this many tokens on a sequence has kLongTiles tiles.
constexpr std::int64_t kFirstLongSequence = std::int64_t{kAttentionTile} * (kLongTiles - 1) + 1;

void refuse(const Spec& spec, const Target& target) {
  const DecodeAttentionSpec& attention = spec.decode_attention();
  std::vector<Problem> problems = check_meaning(attention);
  if (problems.empty()) problems = refuse_attention_tensors(attention);
  if (!has_async_copies(target)) {
    problems.push_back({"", fmt::format("no attention kernel serves target {}", target.name),
                        fmt::format("sm_{}", target.arch()), "sm_80 and up", ""});
  }
  if (problems.empty() && attention_choices(attention, target).empty()) {
    problems.push_back({"/shape/head_dim",
                        fmt::format("two tiles of 32 tokens have no room in the {} bytes of shared "
                                    "memory of {}",
                                    target.shared_per_block, target.name),
                        fmt::format("{}", attention.shape.head_dim), "smaller heads or codes", ""});
  }
  refuse_if_any(spec, std::move(problems));
}

std::string kernel_name(const DecodeAttentionSpec& spec) {
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

// Thread blocks that share each sequence and head, a power of two; 1: blocks take equal parts of
// all. A team is a cluster: all of them and those of the next launch, which starts before this one
// has ended, must find room, and clusters of more than two do not reach every SM.
int team_of(const Plan& plan, const PlannedKernel& kernel, std::int64_t tiles_of_sequence,
            std::int64_t items, std::int64_t sequences) noexcept {
  // Beyond these more blocks are faster.
  constexpr int kMostTilesOfSm = 16;
  constexpr int kMostTilesOfWarp = 8;
  const auto& config = config_of<DecodeAttentionConfig>(kernel);
  const int sms = plan.target.sm_count;
  const int most = most_blocks(plan, kernel);
  if (kernel.blocks_per_sm == 1 || sequences > kMostTeamSequences ||
      tiles_of_sequence * items > kMostTilesOfSm * sms) {
    return 1;
  }
  const auto fits = [&](int team) {
    const std::int64_t blocks = items * team;
    return blocks <= sms && 2 * blocks <= (team > 2 ? most * 9 / 10 : most);
  };
  int team = config.most_team;
  while (team > 1 && (!fits(team) || tiles_of_sequence <= config.warps * team / 2)) team /= 2;
  return tiles_of_sequence <= kMostTilesOfWarp * config.warps * team ? team : 1;
}

// Where blocks take equal parts of all: whether pairs of them do. Of long sequences there are half
// as many parts to merge then, and neighbouring tiles are read at the same time.
bool takes_pairs(const PlannedKernel& kernel, std::int64_t tiles_of_sequence,
                 std::int64_t sequences) noexcept {
  return config_of<DecodeAttentionConfig>(kernel).most_team > 1 && kernel.blocks_per_sm > 1 &&
         sequences <= kMostTeamSequences && tiles_of_sequence >= kLongTiles;
}

std::vector<std::string> reasons(const DecodeAttentionSpec& spec, const Plan& plan) {
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
                    "parts to merge",
                    kLongTiles * kAttentionTile, most_blocks(plan, last),
                    config_of<DecodeAttentionConfig>(last).warps));
  }
  if (config.most_team > 1 && first.blocks_per_sm > 1) {
    reasons.push_back(
        fmt::format("few short sequences, {} at most: each head of one to a cluster of up to {} "
                    "blocks, which add in shared memory",
                    kMostTeamSequences, config.most_team));
  }
  return reasons;
}

class DecodeAttention final : public Family {
 public:
  std::string_view name() const noexcept override { return "decode_attention"; }

  void plan(Plan& plan) const override {
    refuse(plan.spec, plan.target);
    const DecodeAttentionSpec& spec = plan.spec.decode_attention();
    const std::vector<AttentionChoice> choices = attention_choices(spec, plan.target);
    for (const auto& [config, blocks_per_sm] : choices) {
      PlannedKernel kernel;
      const bool is_first = plan.kernels.empty();
      kernel.name = kernel_name(spec) + (is_first ? "" : "_long");
      kernel.size_min = is_first ? 1 : kFirstLongSequence;
      kernel.size_max =
          is_first && choices.size() > 1 ? kFirstLongSequence - 1 : kMostSequenceTokens;
      kernel.family = this;
      kernel.configuration = make_configuration(config);
      kernel.threads = config.threads();
      kernel.shared_bytes = config.shared_bytes();
      kernel.blocks_per_sm = blocks_per_sm;
      kernel.starts_early = config.dependent;
      kernel.arguments = {KernelArgument::kParameters};
      plan.kernels.push_back(std::move(kernel));
    }
    plan.reasons = reasons(spec, plan);
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    KernelText text;
    text.template_path = "decode_attention/decode_attention.cuh";
    for (const std::string& reason : plan.reasons) text.decisions += reason + '\n';
    text.definitions = families::config_struct(
        "DecodeAttentionConfig", config_of<DecodeAttentionConfig>(kernel),
        {"using Value = " + value_type(plan.spec.decode_attention().activation) + ';'});
    text.function = "decode_attention<heddle::Config>";
    text.parameter_type = "AttentionParameters";
    return text;
  }

  // No more thread blocks than have tiles when every sequence is as long as it can be.
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& config = config_of<DecodeAttentionConfig>(kernel);
    const std::int64_t of_sequence = device::ceil_div(size.size, kAttentionTile);
    const std::int64_t items = size.sequences * config.heads.kv * config.row_parts();
    const std::int64_t tiles = of_sequence * items;
    const int least = of_sequence <= config.warps ? config.warps : config.least_share;
    KernelLaunch launch;
    const int team = team_of(plan, kernel, of_sequence, items, size.sequences);
    if (team > 1) {
      launch.grid_x = static_cast<unsigned>(items * team);
      launch.cluster = static_cast<unsigned>(team);
      return launch;
    }
    launch.grid_x = static_cast<unsigned>(
        std::clamp<std::int64_t>(device::ceil_div(tiles, least), 1, most_blocks(plan, kernel)));
    const bool pairs = takes_pairs(kernel, of_sequence, size.sequences);
    launch.cluster = launch.grid_x % 2 == 0 && pairs ? 2 : 1;
    return launch;
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
