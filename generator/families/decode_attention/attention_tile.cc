#include "generator/families/decode_attention/attention_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "generator/kv/kv_channel.h"
#include "generator/planner/stage.h"

namespace heddle {
namespace {

constexpr int kChunkBytes = 16;
constexpr int kMostStages = 6;
constexpr int kMostRowTiles = 2;
constexpr int kMostTeam = 8;   // blocks of a cluster
constexpr int kTeamArch = 90;  // that has been measured
constexpr int kFewBlocks = 2;  // of an SM, as wide as serve long sequences
// Up to this head_dim and number of groups registers hold two row tiles.
constexpr int kRowTileDim = 128;
constexpr int kRowTileGroups = 2;
constexpr int kFewGroups = 4;
constexpr int kQueryInRegisters = 192;  // head_dim beyond which they have no room for Q, either
// What an SM should have on its way, to reach the memory's rate at its latency.
constexpr int kBytesInFlight = 96 * 1024;

int round_up(int value, int step) { return (value + step - 1) / step * step; }

// A tile of K or of V in shared memory; templates/attention/attention_shape.cuh computes the same.
int code_tile_bytes(const KvTensorLayout& layout) {
  const int chunks = layout.row_bytes / kChunkBytes;
  const bool swizzled = std::has_single_bit(static_cast<unsigned>(chunks));
  return kAttentionTile * kChunkBytes * (swizzled ? chunks : chunks | 1);
}

bool entries_by_token(const KvTensor& tensor, const DecodeAttentionSpec& spec) {
  return tensor.granularity == KvGranularity::kToken || spec.kv.order == KvOrder::kHnd ||
         spec.shape.kv_heads == 1;
}

int entry_tile_bytes(const KvTensor& tensor, const KvTensorLayout& layout,
                     const DecodeAttentionSpec& spec) {
  if (tensor.granularity == KvGranularity::kChannel) return layout.scale_row_bytes;
  const bool halves = layout.scale_row_bytes == 2 && !entries_by_token(tensor, spec);
  return kAttentionTile * (halves ? 4 : layout.scale_row_bytes);
}

// Before the rings: beginnings of sequences, lengths if a window hides tiles, the warps'
// references, sums and places, a team's tiles.
int shared_head_bytes(const AttentionTile& tile) {
  const int ends = round_up(4 * (kMostSequences + 1), 16);
  // An mbarrier, references and sums, quads: templates/attention/attention_shape.cuh.
  const int quads = 8 * tile.head_dim / 4 + 4 * (tile.most_team - 1);
  const int team =
      round_up(4 * (kMostTeamSequences + 1), 16) + 16 * (1 + 8 * tile.most_team + quads);
  const int lengths = tile.most_team > 1 ? std::max(ends, team) : ends;
  const int stats = lengths + (tile.has_window ? round_up(4 * kMostSequences, 16) : 0);
  const int places = stats + 8 * tile.warps * 8 * tile.row_tiles;
  return round_up(places + 4 * (tile.warps + 2), 128) + tile.warps * tile.query_bytes;
}

// As many stages as are useful and fit, for this many warps and blocks.
void fill_sm(const Target& target, AttentionTile& tile) {
  const int room = std::min(target.shared_per_sm / tile.blocks_per_sm - kReservedSharedBytes,
                            target.shared_per_block) -
                   shared_head_bytes(tile);
  const int fitting = room / (tile.warps * tile.stage_bytes);
  const int in_flight = tile.blocks_per_sm * tile.warps * tile.stage_bytes;
  const int useful = 1 + (kBytesInFlight + in_flight - 1) / in_flight;
  tile.stages = std::min({fitting, std::max(3, useful), kMostStages});
  tile.shared_bytes = shared_head_bytes(tile) + tile.warps * tile.stages * tile.stage_bytes;
}

// Of many blocks each takes two tiles a warp at least: the parts of an item are merged by one.
void count_blocks(const Target& target, AttentionTile& tile) {
  tile.least_share = (tile.blocks_per_sm > 2 ? 2 : 1) * tile.warps;
  tile.blocks = target.sm_count * tile.blocks_per_sm;
}

// INT4 without zero points whose sums of up to four groups, or Q with K's scales per channel, need
// the 168 registers that twelve warps of an SM leave a thread.
bool suits_twelve_warps(const DecodeAttentionSpec& spec, int groups) {
  const auto is_int4 = [](const KvTensor& tensor) {
    return tensor.dtype == KvDtype::kInt4 && tensor.symmetric;
  };
  const bool channel = spec.kv.k.granularity == KvGranularity::kChannel;
  return is_int4(spec.kv.k) && is_int4(spec.kv.v) &&
         (channel ? groups == 1 : groups > 1 && groups <= kFewGroups);
}

// Blocks of four warps that an SM has registers for: 128 of a thread with 4, 168 with 3. Codes of 8
// bits and sums of many groups take more.
int most_blocks_per_sm(const DecodeAttentionSpec& spec, int row_tiles, int groups) {
  if (row_tiles > 1) return 2;
  if (groups > kRowTileGroups) return suits_twelve_warps(spec, groups) ? 3 : 2;
  // Q and its product with scales.
  if (spec.kv.k.granularity == KvGranularity::kChannel) return 3;
  return std::max(kv_bits(spec.kv.k.dtype), kv_bits(spec.kv.v.dtype)) > 4 ? 3 : 4;
}

// Groups that have sums, or P, of their own.
int groups_of(const KvTensor& tensor, const KvTensorLayout& layout) {
  const bool none =
      tensor.dtype == KvDtype::kNvfp4 || tensor.granularity == KvGranularity::kChannel;
  return none ? 1 : layout.scales_of_row;
}

int most_groups(const DecodeAttentionSpec& spec) {
  const KvCacheLayout layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  return std::max(groups_of(spec.kv.k, layout.k), groups_of(spec.kv.v, layout.v));
}

// Whether the same number of warps in fewer blocks has been measured.
bool has_wide(const DecodeAttentionSpec& spec, int blocks_per_sm) {
  if (blocks_per_sm == 3) return suits_twelve_warps(spec, most_groups(spec)) && spec.window == 0;
  return blocks_per_sm == 4 && kv_bits(spec.kv.k.dtype) == 4 && kv_bits(spec.kv.v.dtype) == 4;
}

class TensorRefusal {
 public:
  TensorRefusal(const KvTensor& tensor, const DecodeAttentionSpec& spec, std::string pointer,
                std::vector<Problem>& problems)
      : tensor_(tensor), spec_(spec), pointer_(std::move(pointer)), problems_(problems) {}

  void check() {
    check_half();
    if (problems_.empty()) check_rows();
  }

 private:
  void check_half() {
    const KvDtype dtype = tensor_.dtype;
    const std::string name = '"' + std::string(to_string(dtype)) + '"';
    const bool fp16 = spec_.activation == DType::kFp16;
    if ((dtype == KvDtype::kFp16 && !fp16) || (dtype == KvDtype::kBf16 && fp16)) {
      refuse("/dtype", "a cache of 16-bit values has the type of Q", name,
             fp16 ? "\"fp16\"" : "\"bf16\"");
    }
  }

  void check_rows() {
    const int dim = spec_.shape.head_dim;
    const KvCacheLayout cache = kv_cache_layout(spec_.kv, spec_.shape.kv_heads, dim);
    const KvTensorLayout& layout = pointer_ == "/kv/k" ? cache.k : cache.v;
    const int bits = kv_bits(tensor_.dtype);
    if (layout.row_bytes % kChunkBytes != 0) {
      problems_.push_back({"/shape/head_dim", "a row of codes is whole runs of 16 bytes",
                           fmt::format("{}", dim), fmt::format("multiples of {}", 128 / bits), ""});
      return;
    }
    const int entry = layout.scale_row_bytes;
    if (tensor_.dtype == KvDtype::kNvfp4) {
      if (entry == 4 || entry == 8 || entry % 16 == 0) return;
      problems_.push_back({"/shape/head_dim",
                           "the scales of a row are copied 4, 8 or multiples of 16 bytes at once",
                           fmt::format("{}, which makes {} bytes of scales", dim, entry),
                           "64, 128 or multiples of 256", ""});
      return;
    }
    if (entry > 2 && entry != 4 && entry != 8 && entry % 16 != 0) {
      refuse("/group_size", "the scales of a row are copied 4, 8 or multiples of 16 bytes at once",
             fmt::format("{}, which makes {} bytes of scales", tensor_.group_size, entry),
             "other groups or scales of another type");
    }
    if (tensor_.granularity == KvGranularity::kGroup && tensor_.group_size * bits % 128 != 0) {
      refuse("/group_size", "groups whose codes are no whole runs of 16 bytes have no kernel",
             fmt::format("{}", tensor_.group_size), fmt::format("multiples of {}", 128 / bits));
    }
    check_pairs(entry);
  }

  // Scales of two bytes are copied in words of two.
  void check_pairs(int entry) {
    if (entry != 2) return;
    if (!entries_by_token(tensor_, spec_)) {
      if (spec_.shape.kv_heads % 2 == 0) return;
      refuse("/scale_dtype", "scales of 16 bits lie in pairs of heads in the order nhd",
             fmt::format("{} heads", spec_.shape.kv_heads),
             "an even number of heads, the order hnd or scales in FP32");
    } else if (spec_.kv.layout == KvLayout::kPaged && spec_.kv.page_size % 2 != 0) {
      refuse("/scale_dtype", "scales of 16 bits lie in pairs of tokens",
             fmt::format("pages of {}", spec_.kv.page_size), "even pages or scales in FP32");
    }
  }

  void refuse(const char* field, const char* why, std::string value, std::string allowed) {
    problems_.push_back({pointer_ + field, why, std::move(value), std::move(allowed), ""});
  }

  const KvTensor& tensor_;
  const DecodeAttentionSpec& spec_;
  std::string pointer_;
  std::vector<Problem>& problems_;
};

}  // namespace

std::vector<Problem> refuse_attention_tensors(const DecodeAttentionSpec& spec) {
  std::vector<Problem> problems = refuse_channels(spec.kv);
  if (!problems.empty()) return problems;
  TensorRefusal(spec.kv.k, spec, "/kv/k", problems).check();
  TensorRefusal(spec.kv.v, spec, "/kv/v", problems).check();
  return problems;
}

AttentionTile attention_tile(const DecodeAttentionSpec& spec, const Target& target) {
  const auto [heads, kv_heads, head_dim, query_len] = spec.shape;
  const KvCacheLayout layout = kv_cache_layout(spec.kv, kv_heads, head_dim);
  AttentionTile tile;
  tile.has_window = spec.window > 0;
  tile.head_dim = head_dim;
  tile.most_team = target.arch() == kTeamArch ? kMostTeam : 1;
  const int rows = heads / kv_heads * query_len;
  const int groups = most_groups(spec);
  const bool two_fit = head_dim <= kRowTileDim && groups <= kRowTileGroups;
  tile.row_tiles = two_fit ? std::min(kMostRowTiles, (rows + 7) / 8) : 1;
  const int tile_bytes = code_tile_bytes(layout.k) + code_tile_bytes(layout.v) +
                         entry_tile_bytes(spec.kv.k, layout.k, spec) +
                         entry_tile_bytes(spec.kv.v, layout.v, spec);
  tile.query_bytes = head_dim > kQueryInRegisters ? 16 * tile.row_tiles * head_dim : 0;
  if (spec.kv.k.granularity == KvGranularity::kChannel) tile.query_bytes *= 2;
  // The ring is also where a warp's output waits for the others'.
  tile.stage_bytes = round_up(std::max(tile_bytes, 4 * 8 * (head_dim + 4)), 128);
  const struct {
    int warps;
    int blocks;
    int least_stages;
  } choices[] = {{4, 4, 3}, {4, 3, 3}, {4, 2, 3}, {4, 1, 3}, {4, 1, 2}, {2, 1, 2}, {1, 1, 2}};
  const int most_blocks = most_blocks_per_sm(spec, tile.row_tiles, groups);
  for (const auto& choice : choices) {
    if (choice.blocks > most_blocks) continue;
    tile.warps = choice.warps;
    tile.blocks_per_sm = choice.blocks;
    fill_sm(target, tile);
    if (tile.stages >= choice.least_stages) break;
  }
  count_blocks(target, tile);
  return tile;
}

std::vector<AttentionTile> attention_tiles(const DecodeAttentionSpec& spec, const Target& target) {
  std::vector<AttentionTile> tiles{attention_tile(spec, target)};
  const AttentionTile& first = tiles.front();
  if (first.most_team == 1 || !has_wide(spec, first.blocks_per_sm)) return tiles;
  AttentionTile wide = first;
  wide.warps = first.warps * first.blocks_per_sm / kFewBlocks;
  wide.blocks_per_sm = kFewBlocks;
  fill_sm(target, wide);
  count_blocks(target, wide);
  if (wide.stages >= first.stages) tiles.push_back(wide);
  return tiles;
}

std::size_t attention_workspace_bytes(const DecodeAttentionSpec& spec, const AttentionTile& tile) {
  const auto blocks = static_cast<std::size_t>(tile.blocks);
  const auto rows = 8 * static_cast<std::size_t>(tile.row_tiles);
  const auto head_dim = static_cast<std::size_t>(spec.shape.head_dim);
  const std::size_t slot = rows * (4 * head_dim + 8 * (head_dim / 16));
  return (4 * blocks + 15) / 16 * 16 + 2 * blocks * slot;
}

}  // namespace heddle
