#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/decode_attention/attention_tile.h"
#include "generator/families/decode_attention/text.h"
#include "generator/families/family.h"
#include "generator/planner/refuse_if_any.h"
#include "generator/spec/meaning.h"

namespace heddle {
namespace {

constexpr int kLeastArch = 80;
// Lengths and what follows from them stay far below 2^31.
constexpr std::int64_t kMostSequenceTokens = std::int64_t{1} << 30;
// From this many tokens on a sequence has kLongTiles tiles.
constexpr std::int64_t kFirstLongSequence = std::int64_t{kAttentionTile} * (kLongTiles - 1) + 1;

void refuse(const Spec& spec, const Target& target) {
  const DecodeAttentionSpec& attention = spec.decode_attention();
  std::vector<Problem> problems = check_meaning(attention);
  if (problems.empty()) problems = refuse_attention_tensors(attention);
  if (target.arch() < kLeastArch) {
    problems.push_back({"", fmt::format("no attention kernel serves target {}", target.name),
                        fmt::format("sm_{}", target.arch()), "sm_80 and up", ""});
  }
  if (problems.empty() && !attention_tile(attention, target).fits()) {
    problems.push_back({"/shape/head_dim",
                        fmt::format("two tiles of 32 tokens have no room in the {} bytes of shared "
                                    "memory of {}",
                                    target.shared_per_block, target.name),
                        fmt::format("{}", attention.shape.head_dim), "smaller heads or codes", ""});
  }
  refuse_if_any(spec, std::move(problems));
}

std::string tensor_name(const KvTensor& tensor) {
  std::string name(to_string(tensor.dtype));
  if (!tensor.symmetric) name += 'z';
  if (tensor.granularity == KvGranularity::kGroup) {
    return name + fmt::format("_g{}", tensor.group_size);
  }
  if (tensor.granularity == KvGranularity::kNone) return name;
  name += '_' + std::string(to_string(tensor.granularity));
  return tensor.group_size == 0 ? name : name + fmt::format("{}", tensor.group_size);
}

std::string kernel_name(const DecodeAttentionSpec& spec) {
  std::string types = tensor_name(spec.kv.k);
  if (const std::string v = tensor_name(spec.kv.v); v != types) types += '_' + v;
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

std::int64_t tiles_of(std::int64_t tokens) noexcept {
  return (tokens + kAttentionTile - 1) / kAttentionTile;
}

// Thread blocks that share each sequence and head, a power of two; 1: blocks take equal parts of
// all. A team is a cluster: all of them and those of the next launch, which starts before this one
// has ended, must find room, and clusters of more than two do not reach every SM.
int team_of(const AttentionTile& tile, std::int64_t tiles_of_sequence, std::int64_t items,
            std::int64_t sequences) noexcept {
  // Beyond these more blocks are faster.
  constexpr int kMostTilesOfSm = 16;
  constexpr int kMostTilesOfWarp = 8;
  const int sms = tile.blocks / tile.blocks_per_sm;
  if (tile.blocks_per_sm == 1 || sequences > kMostTeamSequences ||
      tiles_of_sequence * items > kMostTilesOfSm * sms) {
    return 1;
  }
  const auto fits = [&](int team) {
    const std::int64_t blocks = items * team;
    return blocks <= sms && 2 * blocks <= (team > 2 ? tile.blocks * 9 / 10 : tile.blocks);
  };
  int team = tile.most_team;
  while (team > 1 && (!fits(team) || tiles_of_sequence <= tile.warps * team / 2)) team /= 2;
  return tiles_of_sequence <= kMostTilesOfWarp * tile.warps * team ? team : 1;
}

// Where blocks take equal parts of all: whether pairs of them do. Of long sequences there are half
// as many parts to merge then, and neighbouring tiles are read at the same time.
bool takes_pairs(const AttentionTile& tile, std::int64_t tiles_of_sequence,
                 std::int64_t sequences) noexcept {
  return tile.most_team > 1 && tile.blocks_per_sm > 1 && sequences <= kMostTeamSequences &&
         tiles_of_sequence >= kLongTiles;
}

class DecodeAttention final : public Family {
 public:
  std::string_view name() const noexcept override { return "decode_attention"; }
  bool plans(Op op) const noexcept override { return op == Op::kDecodeAttention; }
  void plan(Plan& plan) const override;
  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    return decode_attention_text(plan, kernel);
  }

  // No more thread blocks than have tiles when every sequence is as long as it can be.
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& tile = config_of<AttentionTile>(kernel);
    const AttentionShape& shape = plan.spec.decode_attention().shape;
    const auto ceil_of = [](std::int64_t count, int unit) { return (count + unit - 1) / unit; };
    const std::int64_t rows = std::int64_t{shape.heads / shape.kv_heads} * shape.query_len;
    const std::int64_t of_sequence = tiles_of(size.size);
    const std::int64_t items = size.sequences * shape.kv_heads * ceil_of(rows, 8 * tile.row_tiles);
    const std::int64_t tiles = of_sequence * items;
    const int least = of_sequence <= tile.warps ? tile.warps : tile.least_share;
    KernelLaunch launch;
    const int team = team_of(tile, of_sequence, items, size.sequences);
    if (team > 1) {
      launch.grid_x = static_cast<unsigned>(items * team);
      launch.cluster = static_cast<unsigned>(team);
      return launch;
    }
    launch.grid_x =
        static_cast<unsigned>(std::clamp<std::int64_t>(ceil_of(tiles, least), 1, tile.blocks));
    const bool pairs = takes_pairs(tile, of_sequence, size.sequences);
    launch.cluster = launch.grid_x % 2 == 0 && pairs ? 2 : 1;
    return launch;
  }

  std::size_t max_workspace_bytes(const Plan& plan,
                                  const PlannedKernel& /*kernel*/) const noexcept override {
    const DecodeAttentionSpec& spec = plan.spec.decode_attention();
    return attention_workspace_bytes(spec, attention_tile(spec, plan.target));
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& tile = config_of<AttentionTile>(kernel);
    return fmt::format("tiles of {} rows x {} columns, {} warps, {} stages, {} blocks at most",
                       kAttentionTile, tile.head_dim, tile.warps, tile.stages, tile.blocks);
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    return fmt::format("{}x{}", kAttentionTile, config_of<AttentionTile>(kernel).head_dim);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    const auto& tile = config_of<AttentionTile>(kernel);
    return {{"rows", kAttentionTile},          {"columns", tile.head_dim},
            {"row_tiles", tile.row_tiles},     {"warps", tile.warps},
            {"stages", tile.stages},           {"blocks", tile.blocks},
            {"least_share", tile.least_share}, {"most_team", tile.most_team}};
  }
};

void DecodeAttention::plan(Plan& plan) const {
  refuse(plan.spec, plan.target);
  const DecodeAttentionSpec& spec = plan.spec.decode_attention();
  const std::vector<AttentionTile> tiles = attention_tiles(spec, plan.target);
  const AttentionTile& tile = tiles.front();
  for (const AttentionTile& each : tiles) {
    PlannedKernel kernel;
    const bool is_first = plan.kernels.empty();
    kernel.name = kernel_name(spec) + (is_first ? "" : "_long");
    kernel.size_min = is_first ? 1 : kFirstLongSequence;
    kernel.size_max = is_first && tiles.size() > 1 ? kFirstLongSequence - 1 : kMostSequenceTokens;
    kernel.family = this;
    kernel.configuration = make_configuration(each);
    kernel.threads = each.threads();
    kernel.shared_bytes = each.shared_bytes;
    kernel.blocks_per_sm = each.blocks_per_sm;
    kernel.starts_early = plan.target.arch() >= 90;
    kernel.arguments = {KernelArgument::kParameters};
    plan.kernels.push_back(std::move(kernel));
  }
  const int rows = spec.shape.heads / spec.shape.kv_heads * spec.shape.query_len;
  plan.reasons = {
      fmt::format("{} queries share a head of K and V; a block multiplies {} of them at a time",
                  rows, 8 * tile.row_tiles),
      fmt::format("{} stages of {} bytes a warp, {} blocks of {} warps per SM", tile.stages,
                  tile.stage_bytes, tile.blocks_per_sm, tile.warps),
      fmt::format(
          "{} blocks, each of which takes an equal part of all tiles of 32 tokens, whatever "
          "the lengths",
          tile.blocks),
      fmt::format("workspace: {} bytes", attention_workspace_bytes(spec, tile)),
      folding("K", spec.kv.k, true),
      folding("V", spec.kv.v, false)};
  if (tiles.size() > 1) {
    plan.reasons.push_back(
        fmt::format("sequences that may have {} tokens: {} blocks of {} warps, which leave fewer "
                    "parts to merge",
                    kLongTiles * kAttentionTile, tiles.back().blocks, tiles.back().warps));
  }
  if (tile.most_team > 1 && tile.blocks_per_sm > 1) {
    plan.reasons.push_back(
        fmt::format("few short sequences, {} at most: each head of one to a cluster of up to {} "
                    "blocks, which add in shared memory",
                    kMostTeamSequences, tile.most_team));
  }
}

}  // namespace

const Family* decode_attention_family() {
  static const DecodeAttention family;
  return &family;
}

}  // namespace heddle
