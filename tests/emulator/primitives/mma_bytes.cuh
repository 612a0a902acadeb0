// templates/primitives/mma_bytes.cuh in C++.
#pragma once

#include "primitives/codes.cuh"
#include "primitives/mma.cuh"

namespace heddle {

template <class A, class B>
inline void mma16832(A, B, typename A::Sum (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  emulator::multiply_codes(A::kCodes, B::kCodes, d, a, {b0, b1});
}
inline void mma8816(u32& d0, u32& d1, u32 a, u32 b) {
  u32 d[2] = {d0, d1};
  emulator::multiply_small_codes(d, a, b);
  d0 = d[0];
  d1 = d[1];
}

}  // namespace heddle
