// Loads, stores and asynchronous copies. Shared memory is addressed by its 32-bit address.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// ld.shared
__device__ __forceinline__ u32x4 load_shared_16(u32 address) {
  u32x4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}
__device__ __forceinline__ f32x4 load_shared_floats(u32 address) {
  f32x4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
}
__device__ __forceinline__ u64 load_shared_8(u32 address) {
  u64 v;
  asm volatile("ld.shared.b64 %0, [%1];" : "=l"(v) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ u32 load_shared_4(u32 address) {
  u32 v;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ u32 load_shared_2(u32 address) {
  u32 v;
  asm volatile("ld.shared.u16 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ u32 load_shared_1(u32 address) {
  u32 v;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}

// st.shared
__device__ __forceinline__ void store_shared_16(u32 address, u32x4 v) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ __forceinline__ void store_shared_floats(u32 address, f32x4 v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v.x), "f"(v.y),
               "f"(v.z), "f"(v.w)
               : "memory");
}
__device__ __forceinline__ void store_shared_8(u32 address, u32 x, u32 y) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void store_shared_4(u32 address, u32 v) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
__device__ __forceinline__ void store_shared_float(u32 address, float v) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
}

// ld.global.nc: data that no one writes while the kernel runs. Where a kernel starts early, not
// what the kernels before it write: it runs beside them.
__device__ __forceinline__ u32x4 load_global_16(const void* address) {
  u32x4 v;
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}
__device__ __forceinline__ u32 load_global_4(const void* address) {
  u32 v;
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(v) : "l"(address));
  return v;
}
__device__ __forceinline__ u32 load_global_2(const void* address) {
  u32 v;
  asm volatile("ld.global.nc.u16 %0, [%1];" : "=r"(v) : "l"(address));
  return v;
}
__device__ __forceinline__ u32 load_global_1(const void* address) {
  u32 v;
  asm volatile("ld.global.nc.u8 %0, [%1];" : "=r"(v) : "l"(address));
  return v;
}
// ld.global: data that this kernel may overwrite later, or that a kernel before it has written.
__device__ __forceinline__ u32 load_global_2_coherent(const void* address) {
  u32 v;
  asm volatile("ld.global.u16 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ u32x4 load_global_16_coherent(const void* address) {
  u32x4 v;
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address)
               : "memory");
  return v;
}
// ld.global.cg: from the L2 cache, where other blocks' and kernels' stores are.
__device__ __forceinline__ u32x4 load_global_16_l2(const void* address) {
  u32x4 v;
  asm volatile("ld.global.cg.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address)
               : "memory");
  return v;
}
__device__ __forceinline__ f32x4 load_global_floats_l2(const void* address) {
  f32x4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(address)
               : "memory");
  return v;
}
__device__ __forceinline__ u32 load_global_4_l2(const void* address) {
  u32 v;
  asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ u32 load_global_2_l2(const void* address) {
  u32 v;
  asm volatile("{ .reg .b16 h; ld.global.cg.u16 h, [%1]; cvt.u32.u16 %0, h; }"
               : "=r"(v)
               : "l"(address)
               : "memory");
  return v;
}
__device__ __forceinline__ u64 load_global_8_l2(const void* address) {
  u64 v;
  asm volatile("ld.global.cg.b64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ void store_global_16(void* address, u32x4 v) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ __forceinline__ void store_global_floats(void* address, f32x4 v) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(v.x), "f"(v.y),
               "f"(v.z), "f"(v.w)
               : "memory");
}
__device__ __forceinline__ void store_global_8(void* address, u32 x, u32 y) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void store_global_4(void* address, u32 v) {
  asm volatile("st.global.b32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}
// The low 16 bits.
__device__ __forceinline__ void store_global_2(void* address, u32 v) {
  asm volatile("{ .reg .b16 l, h; mov.b32 {l, h}, %1; st.global.b16 [%0], l; }" ::"l"(address),
               "r"(v)
               : "memory");
}
// The low 8 bits.
__device__ __forceinline__ void store_global_1(void* address, u32 v) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}

// prefetch.global.L2: the 128 bytes of a line; a hint.
__device__ __forceinline__ void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}
// Prefetches a line of an array of `bytes` bytes, if it has that line.
__device__ __forceinline__ void prefetch_line(const void* array, i64 line, i64 bytes) {
  if (128 * line < bytes) prefetch_l2(static_cast<const u8*>(array) + 128 * line);
}

// The address of the 4-byte word that a byte is in.
__device__ __forceinline__ const u8* align_down_4(const u8* address) {
  return reinterpret_cast<const u8*>(reinterpret_cast<u64>(address) & ~u64{3});
}

// cp.async, sm_80 and up: 16 bytes from global to shared memory without registers, past the L1
// cache. Where `valid` is false nothing is read and 16 zero bytes are written.
__device__ __forceinline__ void copy_async_16(u32 shared, const void* global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(valid ? 16 : 0)
               : "memory");
}
// copy_async_16() where `wanted`; elsewhere nothing is read or written.
__device__ __forceinline__ void copy_async_16_if(bool wanted, u32 shared, const void* global,
                                                 bool valid) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.cg.shared.global [%0], [%1], 16, %2; }" ::
          "r"(shared),
      "l"(global), "r"(valid ? 16 : 0), "r"(static_cast<u32>(wanted))
      : "memory");
}
// cp.async of 4 or 8 bytes, of which the first `valid_bytes` are read; the others become zero.
// Before sm_80 loads and stores, of whole words.
template <int kBytes>
__device__ __forceinline__ void copy_async_small(u32 shared, const void* global, int valid_bytes) {
  static_assert(kBytes == 4 || kBytes == 8, "16 bytes are copy_async_16");
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global),
               "n"(kBytes), "r"(valid_bytes)
               : "memory");
#else
  const u32* const words = static_cast<const u32*>(global);
#pragma unroll
  for (int i = 0; i < kBytes / 4; ++i) {
    store_shared_4(shared + 4 * i, 4 * i < valid_bytes ? words[i] : 0);
  }
#endif
}
// Closes the group of all copies that this thread has started since the last call.
__device__ __forceinline__ void copy_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most kPending of this thread's latest groups are unfinished.
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace heddle
