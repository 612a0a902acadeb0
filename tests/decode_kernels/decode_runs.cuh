// Calls a kernel's own decode functions on words from memory and stores the A operands.
#include "primitives/bits.cuh"
#include "primitives/half.cuh"

namespace heddle {

// One thread decodes one run of four tiles, unit after unit as a GEMM does. Per run: kWords words,
// kZeroWords words of zero points for each unit, 16 words of output, which are the registers a0 to
// a3 of each tile.
template <class Decode, int kWords, int kZeroWords>
__device__ __forceinline__ void decode_runs(const u32* words, const u32* zero_words, u32* out,
                                            u32 runs) {
  constexpr int kUnits = 4 / Decode::kTiles;
  const u32 run = blockIdx.x * blockDim.x + threadIdx.x;
  if (run >= runs) return;
  u32 packed[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) packed[i] = words[run * kWords + i];
#pragma unroll
  for (int unit = 0; unit < kUnits; ++unit) {
    const u32* packed_zeros = zero_words + (run * kUnits + unit) * kZeroWords;
    u32 zeros[Decode::kZeroRegisters];
    if constexpr (kZeroWords == 1) {
      Decode::zeros(packed_zeros[0], zeros);
    } else if constexpr (kZeroWords > 1) {
      u32 zero_unit[kZeroWords];
#pragma unroll
      for (int i = 0; i < kZeroWords; ++i) zero_unit[i] = packed_zeros[i];
      Decode::zeros(zero_unit, zeros);
    }
    u32 a[Decode::kTiles][4];
    Decode::unit(packed, unit, zeros, a);
#pragma unroll
    for (int i = 0; i < 4 * Decode::kTiles; ++i) {
      out[16 * run + 4 * Decode::kTiles * unit + i] = a[i / 4][i % 4];
    }
  }
}

}  // namespace heddle
