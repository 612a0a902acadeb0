#include "generator/planner/candidates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/planner/default_tile.h"
#include "generator/planner/same_kernel.h"
#include "generator/target/capabilities.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using Choices = std::vector<std::optional<int>>;

constexpr int kManyTokens = 64;
constexpr int kMostTokens = 256;  // of a tile

GemmVariant variant_at(const Spec& spec, const Target& target, std::int64_t m) {
  const Plan plan = resolve(spec, target);
  return variant_of(plan.kernels[plan.kernel_for(m)]);
}

// A field that the spec sets is not open.
Choices open(const std::optional<int>& set, Choices choices) {
  return set ? Choices{set} : std::move(choices);
}

// The tile that holds all tokens, since two would read the weights twice; of many tokens, which
// multiply longer than they read, several.
Choices token_tiles(std::int64_t m) {
  if (m > kMostTokens / 2) return {64, 128, kMostTokens};
  if (m > kManyTokens) return {64, 128};
  int cover = 8;
  while (cover < m) cover *= 2;
  return {cover};
}

// wgmma multiplies by more numbers of tokens.
Choices wgmma_token_tiles(std::int64_t m) {
  if (m > kMostTokens / 2) return {64, 96, 128, 160, 192, kMostTokens};
  if (m > kManyTokens) return {64, 96, 128};
  return token_tiles(m);
}

// Few enough to leave each its registers, enough to hide the memory's latency. Warps along M read
// the same weights from shared memory, which pays from two runs of 32 tokens on.
bool are_good_warps(int tokens, int m, int n, int k) {
  const int warps = m * n * k;
  return (warps == 8 || warps == 16) && (m == 1 || tokens >= 32 * m);
}

class Collector {
 public:
  Collector(const Spec& spec, const Target& target, std::int64_t m)
      : spec_(spec), target_(target), m_(m) {
    const GemmVariant chosen = variant_at(spec, target, m);
    specs_.push_back(spec);
    kernels_.push_back(chosen);
    // The range that a kernel of the planner's would serve, so that only the tile differs.
    const auto& ends = m_range_ends();
    const auto end = std::lower_bound(ends.begin(), ends.end(), m);
    m_min_ = std::max(chosen.m_min, end == ends.begin() ? 1 : end[-1] + 1);
    m_max_ = std::min(chosen.m_max, *end);
  }

  void add(Path path, const TileSpec& tile) {
    GemmSpec candidate = spec_.gemm();
    candidate.path = path;
    candidate.tile = tile;
    candidate.shape.m_min = m_min_;
    candidate.shape.m_max = m_max_;
    try {
      Spec spec = Spec::from_gemm(candidate);
      const GemmVariant kernel = variant_at(spec, target_, m_);
      for (const GemmVariant& known : kernels_) {
        if (is_same_kernel(known, kernel)) return;
      }
      kernels_.push_back(kernel);
      specs_.push_back(std::move(spec));
    } catch (const Error& error) {
      // What cannot be served is no candidate.
      if (error.category() != ErrorCategory::kUnsupported) throw;
    }
  }

  std::vector<Spec> take() { return std::move(specs_); }

 private:
  const Spec& spec_;
  const Target& target_;
  std::int64_t m_;
  std::int64_t m_min_ = 1;
  std::int64_t m_max_ = 1;
  std::vector<Spec> specs_;
  std::vector<GemmVariant> kernels_;  // of the specs
};

// Kernels that walk the output in tiles: every field counts.
void add_tiles(Path path, const TileSpec& user, std::int64_t m, Collector* collector) {
  TileSpec tile = user;
  for (auto tokens : open(user.m, token_tiles(m))) {
    for (auto rows : open(user.n, {16, 32, 64, 128, 256})) {
      for (auto columns : open(user.k, {128, 256, 512, 1024})) {
        for (auto warps_m : open(user.warps_m, {1, 2, 4})) {
          for (auto warps_n : open(user.warps_n, {1, 2, 4, 8})) {
            for (auto warps_k : open(user.warps_k, {1, 2, 4, 8})) {
              if (!are_good_warps(*tokens, *warps_m, *warps_n, *warps_k)) continue;
              for (auto split : open(user.split_k, {std::nullopt, 1, 2, 4})) {
                tile.m = tokens, tile.n = rows, tile.k = columns;
                tile.warps_m = warps_m, tile.warps_n = warps_n, tile.warps_k = warps_k;
                tile.split_k = split;
                collector->add(path, tile);
              }
            }
          }
        }
      }
    }
  }
}

// Streamed weights: rows and tokens of a block are fixed, K and its warps are not.
void add_streams(const TileSpec& user, Collector* collector) {
  TileSpec tile = user;
  for (auto warps : open(user.warps_k, {std::nullopt, 4, 5, 6, 7, 8, 16})) {
    for (auto stages : open(user.stages, {std::nullopt, 2, 3, 4, 6, 8})) {
      for (auto split : open(user.split_k, {std::nullopt, 1, 2, 3, 4, 8})) {
        tile.warps_k = warps, tile.stages = stages, tile.split_k = split;
        collector->add(Path::kHopper, tile);
      }
    }
  }
}

// Fed by bulk copies: rows for one round of blocks.
void add_bulk(const TileSpec& user, Collector* collector) {
  TileSpec tile = user;
  for (auto columns : open(user.k, {256, 512, 1024})) {
    for (auto warps_n : open(user.warps_n, {1, 2, 3, 4, 5, 7})) {
      for (auto warps_k : open(user.warps_k, {1, 2, 4, 8})) {
        if (*warps_n * *warps_k < 4 || *warps_n * *warps_k > 16) continue;
        for (auto stages : open(user.stages, {std::nullopt, 2, 3, 4})) {
          tile.k = columns, tile.warps_n = warps_n, tile.warps_k = warps_k;
          tile.stages = stages;
          collector->add(Path::kHopper, tile);
        }
      }
    }
  }
}

// wgmma: a split of one keeps every tile to one block.
void add_wgmma(const TileSpec& user, std::int64_t m, Collector* collector) {
  TileSpec tile = user;
  for (auto tokens : open(user.m, wgmma_token_tiles(m))) {
    for (auto rows : open(user.n, {64, 128, 256})) {
      for (auto columns : open(user.k, {128, 256, 512})) {
        for (auto stages : open(user.stages, {std::nullopt, 2, 3, 4, 6})) {
          for (auto split : open(user.split_k, {std::nullopt, 1})) {
            tile.m = tokens, tile.n = rows, tile.k = columns;
            tile.stages = stages, tile.split_k = split;
            collector->add(Path::kHopper, tile);
          }
        }
      }
    }
  }
}

}  // namespace

std::vector<Spec> tile_candidates(const Spec& spec, const Target& target, std::int64_t m) {
  Collector collector(spec, target, m);
  const GemmSpec& gemm = spec.gemm();
  const bool any = gemm.path == Path::kAuto;
  if (gemm.path == Path::kTuring) add_tiles(Path::kTuring, gemm.tile, m, &collector);
  if (any && !has_async_copies(target)) add_tiles(Path::kTuring, gemm.tile, m, &collector);
  if (any || gemm.path == Path::kAmpere) add_tiles(Path::kAmpere, gemm.tile, m, &collector);
  if (any || gemm.path == Path::kHopper) {
    add_streams(gemm.tile, &collector);
    add_bulk(gemm.tile, &collector);
    add_wgmma(gemm.tile, m, &collector);
  }
  return collector.take();
}

}  // namespace heddle
