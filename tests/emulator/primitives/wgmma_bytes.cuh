// templates/primitives/wgmma_bytes.cuh in C++.
#pragma once

#include "primitives/codes.cuh"
#include "primitives/wgmma.cuh"

namespace heddle {

template <class A, class B, int kSums>
inline void wgmma(A, B, typename A::Sum (&d)[kSums], u64 rows, u64 columns, bool add) {
  emulator::multiply_later({{}, d, kSums, nullptr, columns, add, rows, A::kCodes, B::kCodes});
}

template <class A, class B, int kSums>
inline void wgmma(A, B, typename A::Sum (&d)[kSums], const u32 (&a)[4], u64 columns, bool add) {
  emulator::multiply_later({{}, d, kSums, a, columns, add, 0, A::kCodes, B::kCodes, true});
}

}  // namespace heddle
