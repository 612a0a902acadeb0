// Tensor core instructions of one warp, and the loads that feed them.
//
// mma16816: D[16,8] += A[16,16] * B[16,8], 16-bit inputs, FP32 sums. With lane = 4 * g + t:
//   a[0], a[2]  row g,     columns 2t, 2t+1 and 2t+8, 2t+9
//   a[1], a[3]  row g + 8, the same columns
//   b[0], b[1]  rows 2t, 2t+1 and 2t+8, 2t+9 of column g
//   d[0..1]     row g,     columns 2t, 2t+1;  d[2..3]  row g + 8
#pragma once

#include "primitives/half.cuh"
#include "primitives/types.cuh"

namespace heddle {

// mma.m16n8k16, sm_80 and up.
struct MmaAmpere {
  static __device__ __forceinline__ void mma16816(Fp16, float (&d)[4], const u32 (&a)[4], u32 b0,
                                                  u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  static __device__ __forceinline__ void mma16816(Bf16, float (&d)[4], const u32 (&a)[4], u32 b0,
                                                  u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

// Two mma.m16n8k8, sm_75 and up: the same fragments, half of K at a time.
struct MmaTuring {
  static __device__ __forceinline__ void mma1688(float (&d)[4], u32 a0, u32 a1, u32 b0) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
        "{%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(b0));
  }
  static __device__ __forceinline__ void mma16816(Fp16, float (&d)[4], const u32 (&a)[4], u32 b0,
                                                  u32 b1) {
    mma1688(d, a[0], a[1], b0);
    mma1688(d, a[2], a[3], b1);
  }
};

// ldmatrix.x4: four 8x8 matrices of 16-bit values. Lane i gives the shared address of row i % 8 of
// matrix i / 8; lane 4g + t receives columns 2t, 2t+1 of row g of matrix j in d[j].
__device__ __forceinline__ void ldmatrix_x4(u32 (&d)[4], u32 shared_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(shared_address)
               : "memory");
}
// ldmatrix.x2: the same for two matrices; lanes 16 to 31 give addresses that are not used.
__device__ __forceinline__ void ldmatrix_x2(u32 (&d)[2], u32 shared_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(shared_address)
               : "memory");
}

// ldmatrix.x4.trans: the same with each matrix transposed: lane 4g + t receives rows 2t, 2t+1 of
// column g.
__device__ __forceinline__ void ldmatrix_x4_trans(u32 (&d)[4], u32 shared_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(shared_address)
               : "memory");
}
// stmatrix.x4, sm_90 and up: the other way: lane 4g + t has columns 2t, 2t+1 of row g of matrix j,
// and lane i gives the shared address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void store_matrices(u32 shared_address, u32x4 v) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address),
      "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
      : "memory");
}
// stmatrix.x4.trans: the same with each matrix transposed: lane 4g + t has rows 2t, 2t+1 of column
// g.
__device__ __forceinline__ void store_matrices_transposed(u32 shared_address, u32x4 v) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   shared_address),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
// stmatrix.x2.trans: two of them, whose rows' addresses lanes 0..15 give.
__device__ __forceinline__ void store_two_matrices_transposed(u32 shared_address, u32 a, u32 b) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address),
      "r"(a), "r"(b)
      : "memory");
}
// movmatrix.trans: transposes an 8x8 matrix of 16-bit values that lies in a warp's registers, lane
// 4g + t with columns 2t, 2t+1 of row g.
__device__ __forceinline__ u32 transpose_8x8(u32 a) {
  u32 d;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}

}  // namespace heddle
