#include "generator/families/stream/warps.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "generator/families/shared_memory.h"
#include "generator/families/stream/shape.h"
#include "generator/families/tile_fields.h"

namespace heddle {
namespace {

// An SM has four parts: of nine warps one part has three, and the others wait for it. Fewer than
// seven are slower than the memory.
constexpr int kBestWarps[] = {kUsualStreamWarps, 12};
constexpr int kOtherWarps[] = {10, 7, 11, 9};
constexpr int kFewestWarps = 6;
constexpr std::size_t kBestLengths = 2;
constexpr int kFewestStageChunks = 2;

// Chunks of a stage: the nearest to a good copy.
int good_stage_chunks(const WeightLayout& layout) {
  const int nearest = (kGoodCopyBytes + layout.chunk_bytes / 2) / layout.chunk_bytes;
  return std::clamp(nearest, 1, kMostStreamStageChunks);
}

// Chunks of a stage for warps with `of_warp` chunks each: a good copy, one chunk less where that
// leaves no short stage, or one more where that is all that each warp has.
int choose_stage_chunks(const WeightLayout& layout, int of_warp, bool is_even) {
  const int chunks = std::min(good_stage_chunks(layout), of_warp);
  if (is_even && of_warp == chunks + 1 && of_warp <= kMostStreamStageChunks) return of_warp;
  return of_warp % chunks != 0 && chunks > 1 && of_warp % (chunks - 1) == 0 ? chunks - 1 : chunks;
}

// Stage lengths near a good one, the best first, from three quarters to three halves of it.
std::vector<int> good_lengths(int good) {
  std::vector<int> lengths;
  for (const int chunks : {good, good - 1, good + 1, good + 2}) {
    const bool is_near = 4 * chunks >= 3 * good && 2 * chunks <= 3 * good;
    if (is_near && chunks <= kMostStreamStageChunks) lengths.push_back(chunks);
  }
  return lengths;
}

// The first of so many warps whose equal shares of the chunks are whole stages of one of these
// lengths, or one that is shorter than the first of them.
std::optional<WarpStages> share(int chunks, std::span<const int> warp_counts,
                                const std::vector<int>& lengths) {
  for (const int length : lengths) {
    for (const int warps : warp_counts) {
      if (chunks % (warps * length) == 0) return WarpStages{warps, length};
    }
  }
  for (const int warps : warp_counts) {
    const int of_warp = chunks / warps;
    const bool is_short = of_warp >= kFewestStageChunks && of_warp < lengths.front();
    if (is_short && chunks % warps == 0) return WarpStages{warps, of_warp};
  }
  return std::nullopt;
}

// Tries the best numbers of warps with the best stage lengths, then the others with any length.
std::optional<WarpStages> share_in_stages(const WeightLayout& layout, int chunks) {
  const std::vector<int> lengths = good_lengths(good_stage_chunks(layout));
  std::vector<int> best = lengths;
  best.resize(std::min(best.size(), kBestLengths));
  if (const auto shares = share(chunks, kBestWarps, best)) return shares;
  return share(chunks, kOtherWarps, lengths);
}

// The most warps that have equal shares of so many chunks, else the usual number.
int even_warps(int chunks) {
  for (int warps = kUsualStreamWarps; warps >= kFewestWarps; --warps) {
    if (chunks % warps == 0) return warps;
  }
  return std::min(kUsualStreamWarps, chunks);
}

}  // namespace

int stream_stage_chunks(const WeightLayout& layout, int split, int warps) {
  const auto of_warp =
      static_cast<int>(ceil_div(ceil_div(layout.chunks_per_row_block, split), warps));
  const int chunks = layout.chunks_per_row_block / split;
  return choose_stage_chunks(layout, of_warp, of_warp * warps == chunks);
}

WarpStages choose_stream_warps(const TileSpec& tile, const WeightLayout& layout, int split) {
  const int chunks = layout.chunks_per_row_block / split;
  const auto with = [&](int warps) -> WarpStages {
    return {warps, stream_stage_chunks(layout, split, warps)};
  };
  if (tile.warps_k) return with(std::min({*tile.warps_k, chunks, kManyStreamWarps}));
  if (layout.chunks_per_row_block % split == 0) {
    if (const auto shares = share_in_stages(layout, chunks)) return *shares;
  }
  return with(even_warps(chunks));
}

}  // namespace heddle
