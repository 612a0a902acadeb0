// templates/primitives/wgmma.cuh in C++. Registers are read and written when they are waited for.
#pragma once

#include "primitives/half.cuh"
#include "primitives/types.cuh"
#include "tests/emulator/multiplications.h"

namespace heddle {

inline void wgmma_fence() {}
inline void wgmma_commit() { emulator::commit_multiplications(); }
template <int kPending>
inline void wgmma_wait() {
  emulator::wait_for_multiplications(kPending);
}
inline void pin(float&) {}
inline void pin(u32&) {}

inline u64 wgmma_columns(u32 shared_address) {
  constexpr u64 kSwizzle128 = u64{1} << 62;
  constexpr u64 kEightColumns = u64{1024 >> 4} << 32;
  constexpr u64 kNotUsed = u64{1} << 16;
  return kSwizzle128 | kEightColumns | kNotUsed | (shared_address & 0x3ffff) >> 4;
}
inline u64 wgmma_same_columns(u64 columns) { return columns; }

template <emulator::Half kHalf, u32 kOne, int kSums>
inline void wgmma(HalfPair<kHalf, kOne>, float (&d)[kSums], const u32 (&a)[4], u64 columns,
                  bool add) {
  emulator::multiply_later({kHalf, d, kSums, a, columns, add});
}

}  // namespace heddle
