// templates/primitives/mma.cuh in C++: what the emulated kernels use of it.
#pragma once

#include "primitives/half.cuh"
#include "primitives/sync.cuh"
#include "primitives/types.cuh"

namespace heddle {

struct MmaAmpere {
  template <emulator::Half kHalf, u32 kOne>
  static void mma16816(HalfPair<kHalf, kOne>, float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    emulator::multiply_tiles(kHalf, d, a, b0, b1);
  }
};

inline void ldmatrix_x4(u32 (&d)[4], u32 shared_address) {
  emulator::load_matrices(d, shared_address);
}
inline void ldmatrix_x2(u32 (&d)[2], u32 shared_address) {
  u32 all[4];
  emulator::load_matrices(all, broadcast(shared_address, static_cast<int>(emulator::lane()) & 15));
  d[0] = all[0];
  d[1] = all[1];
}
inline void ldmatrix_x4_trans(u32 (&d)[4], u32 shared_address) {
  emulator::load_matrices_transposed(d, shared_address);
}
inline void store_matrices(u32 shared_address, u32x4 v) {
  emulator::store_matrices(shared_address, {v.x, v.y, v.z, v.w});
}
inline void store_matrices_transposed(u32 shared_address, u32x4 v) {
  emulator::store_matrices_transposed(shared_address, {v.x, v.y, v.z, v.w});
}
inline void store_two_matrices_transposed(u32 shared_address, u32 a, u32 b) {
  emulator::store_two_matrices_transposed(shared_address, {a, b});
}
inline u32 transpose_8x8(u32 a) { return emulator::transpose_matrix(a); }

}  // namespace heddle
