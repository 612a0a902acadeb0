#include "generator/families/warpgroup/registers.h"

#include <algorithm>

#include "generator/families/scale_mode.h"

namespace heddle {
namespace {

using device::WarpgroupConfig;

// Sums and decoded words are counted below; they are most of what a thread has. The others cannot
// be counted, since the compiler shares registers between what is not needed at the same time:
// these constants, in registers of a thread, were found by compiling. That nothing spills is held
// by build/release/tests/runtime/compile_matrix_test --gtest_filter='*CompileWgmma*'

// In every kernel: addresses, and what the loop has.
constexpr int kAddresses = 28;
// Weights that wgmma reads from shared memory: their addresses. Nothing is decoded then.
constexpr int kWeightAddresses = 8;
// Weights that are decoded: words, scales and zero points that were read ahead.
constexpr int kDecoding = 40;
// Where sums of 128 columns are added to those of all of K in FP32.
constexpr int kPromoting = 16;
// A second row tile's addresses and words, for each chunk of a stage after the first.
constexpr int kFurtherChunk = 6;
// Sums of INT8 that become FP32: a second row tile's addresses and words; and, where the scales of
// outputs are found, a thread's offsets for each chunk of a stage after the first.
constexpr int kSecondConverted = 64, kFoundChunk = 16;

// Row tiles of a warpgroup. Two warpgroups may share one.
int row_tiles(const WarpgroupConfig& c) {
  return std::max(1, c.tile_n / (WarpgroupConfig::kRowTile * c.warpgroups));
}

// Sums of INT8 that become FP32 group by group: both forms have registers where that happens
// several times a chunk, or where scales of outputs are found, in stages of several chunks.
int conversion_registers(const WarpgroupConfig& c) {
  const bool is_short = c.weights.meta_group < device::Chunk::kColumns;
  const bool finds = c.epilogue.finds_scales;
  const int further = c.stage_chunks - 1;
  const int again = further > 0 && (is_short || finds) ? wgmma_sum_registers(c) : 0;
  return kSecondConverted * (row_tiles(c) - 1) + again + (finds ? kFoundChunk * further : 0);
}

}  // namespace

int wgmma_sum_registers(const WarpgroupConfig& c) {
  const int sums = 4 * row_tiles(c) * (c.tile_m / 8);
  if (c.byte_operands()) return sums + (c.promotes ? c.chunk_sum_tokens() / 2 : 0);
  // Sums of a group, or of 128 columns, of one row tile at a time.
  if (c.byte_tokens()) return sums + (c.has_group_sums() ? c.tile_m / 2 : 0);
  return c.scaling.mode == ScaleMode::kAccumulator ? 2 * sums : sums;
}

int wgmma_registers(const GemmSpec& spec, const WarpgroupConfig& c) {
  int registers = wgmma_sum_registers(c) + kAddresses;
  if (c.byte_operands()) return registers + kWeightAddresses;
  constexpr int kWords = 4;  // of a lane, of a tile of the matrix instruction
  registers += kWords * WarpgroupConfig::kDecodedSets * c.step_tiles;
  const bool is_int8 = spec.activation == DType::kInt8;
  // Products of FP8 whose sums of groups are added are waited for before the next words come.
  const bool waits = c.byte_tokens() && !is_int8 && c.has_group_sums();
  if (!waits) registers += kDecoding;
  if (c.promotes) registers += kPromoting;
  if (c.byte_tokens()) registers += kFurtherChunk * (row_tiles(c) - 1) * (c.stage_chunks - 1);
  const bool converts = is_int8 && c.scaling.mode == ScaleMode::kGroup;
  return registers + (converts ? conversion_registers(c) : 0);
}

bool wgmma_fits_registers(const GemmSpec& spec, const WarpgroupConfig& c) {
  return c.has_four() || wgmma_registers(spec, c) <= kWgmmaRegisters;
}

}  // namespace heddle
