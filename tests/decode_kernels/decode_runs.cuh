// Calls a kernel's own decode functions on words from memory and stores the A operands.
#include "primitives/bits.cuh"
#include "primitives/half.cuh"

namespace heddle {

// One thread decodes one run of kUnits units, one after the other as a GEMM does. Per run: kWords
// words, kGroupWords words of the group for each unit, and as output the registers a0 to a3 of each
// tile.
template <class Decode, int kWords, int kGroupWords, int kUnits>
__device__ __forceinline__ void decode_runs(const u32* words, const u32* group_words, u32* out,
                                            u32 runs) {
  constexpr int kOutputs = 4 * Decode::kTiles * kUnits;
  const u32 run = blockIdx.x * blockDim.x + threadIdx.x;
  if (run >= runs) return;
  u32 packed[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) packed[i] = words[run * kWords + i];
#pragma unroll
  for (int unit = 0; unit < kUnits; ++unit) {
    const u32* packed_group = group_words + (run * kUnits + unit) * kGroupWords;
    u32 zeros[Decode::kGroupRegisters];
    if constexpr (kGroupWords == 1) {
      Decode::group(packed_group[0], zeros);
    } else if constexpr (kGroupWords > 1) {
      u32 unit_group[kGroupWords];
#pragma unroll
      for (int i = 0; i < kGroupWords; ++i) unit_group[i] = packed_group[i];
      Decode::group(unit_group, zeros);
    }
    u32 a[Decode::kTiles][4];
    Decode::unit(packed, unit, zeros, a);
#pragma unroll
    for (int i = 0; i < 4 * Decode::kTiles; ++i) {
      out[kOutputs * run + 4 * Decode::kTiles * unit + i] = a[i / 4][i % 4];
    }
  }
}

}  // namespace heddle
