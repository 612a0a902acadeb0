#include <fmt/format.h>

#include <utility>

#include "generator/plan/attention_tile.h"
#include "generator/plan/resolve.h"
#include "generator/spec/meaning.h"

namespace heddle {
namespace {

constexpr int kLeastArch = 80;

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

}  // namespace

void resolve_decode_attention(Plan& plan) {
  refuse(plan.spec, plan.target);
  const DecodeAttentionSpec& spec = plan.spec.decode_attention();
  const std::vector<AttentionTile> tiles = attention_tiles(spec, plan.target);
  const AttentionTile& tile = tiles.front();
  for (const AttentionTile& each : tiles) {
    TileKernel kernel;
    kernel.role = KernelRole::kDecodeAttention;
    kernel.name = kernel_name(spec) + (plan.tile_kernels.empty() ? "" : "_long");
    kernel.tile_rows = kAttentionTile;
    kernel.tile_columns = spec.shape.head_dim;
    kernel.threads = each.threads();
    kernel.shared_bytes = each.shared_bytes;
    kernel.blocks_per_sm = each.blocks_per_sm;
    plan.tile_kernels.push_back(kernel);
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

}  // namespace heddle
