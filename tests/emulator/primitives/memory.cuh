// templates/primitives/memory.cuh in C++: what the emulated kernels use of it.
#pragma once

#include "primitives/types.cuh"
#include "tests/emulator/device.h"

namespace heddle {

// The only thing that kernels do with a pointer to shared memory.
inline u32 shared_address(const void*) { return emulator::shared_begin(); }

template <class T>
inline T load_shared_as(u32 address) {
  T v;
  emulator::load_shared(address, &v, sizeof v);
  return v;
}
inline u32x4 load_shared_16(u32 address) { return load_shared_as<u32x4>(address); }
inline f32x4 load_shared_floats(u32 address) { return load_shared_as<f32x4>(address); }
inline u64 load_shared_8(u32 address) { return load_shared_as<u64>(address); }
inline u32 load_shared_4(u32 address) { return load_shared_as<u32>(address); }
inline u32 load_shared_2(u32 address) { return load_shared_as<u16>(address); }
inline u32 load_shared_1(u32 address) { return load_shared_as<u8>(address); }

inline void store_shared_16(u32 address, u32x4 v) { emulator::store_shared(address, &v, 16); }
inline void store_shared_floats(u32 address, f32x4 v) { emulator::store_shared(address, &v, 16); }
inline void store_shared_8(u32 address, u32 x, u32 y) {
  const u32 v[2] = {x, y};
  emulator::store_shared(address, v, 8);
}
inline void store_shared_4(u32 address, u32 v) { emulator::store_shared(address, &v, 4); }
inline void store_shared_float(u32 address, float v) { emulator::store_shared(address, &v, 4); }

template <class T, auto load = emulator::load_global>
inline T load_global_as(const void* address) {
  T v;
  load(address, &v, sizeof v);
  return v;
}
inline u32x4 load_global_16(const void* address) { return load_global_as<u32x4>(address); }
inline u32 load_global_4(const void* address) { return load_global_as<u32>(address); }
inline u32 load_global_2(const void* address) { return load_global_as<u16>(address); }
inline u32 load_global_1(const void* address) { return load_global_as<u8>(address); }
inline u32 load_global_2_coherent(const void* address) { return load_global_2(address); }
inline u32x4 load_global_16_coherent(const void* address) { return load_global_16(address); }

inline u32x4 load_global_16_l2(const void* address) {
  return load_global_as<u32x4, emulator::load_global_l2>(address);
}
inline f32x4 load_global_floats_l2(const void* address) {
  return load_global_as<f32x4, emulator::load_global_l2>(address);
}
inline u64 load_global_8_l2(const void* address) {
  return load_global_as<u64, emulator::load_global_l2>(address);
}
inline u32 load_global_2_l2(const void* address) {
  return load_global_as<u16, emulator::load_global_l2>(address);
}
inline u32 load_global_4_l2(const void* address) {
  return load_global_as<u32, emulator::load_global_l2>(address);
}

inline void store_global_16(void* address, u32x4 v) { emulator::store_global(address, &v, 16); }
inline void store_global_floats(void* address, f32x4 v) { emulator::store_global(address, &v, 16); }
inline void store_global_8(void* address, u32 x, u32 y) {
  const u64 v = static_cast<u64>(y) << 32 | x;
  emulator::store_global(address, &v, 8);
}
inline void store_global_4(void* address, u32 v) { emulator::store_global(address, &v, 4); }
inline void store_global_2(void* address, u32 v) { emulator::store_global(address, &v, 2); }
inline void store_global_1(void* address, u32 v) { emulator::store_global(address, &v, 1); }

inline void prefetch_l2(const void* address) { emulator::prefetch_global(address); }
inline void prefetch_line(const void* array, i64 line, i64 bytes) {
  if (128 * line < bytes) prefetch_l2(static_cast<const u8*>(array) + 128 * line);
}
inline const u8* align_down_4(const u8* address) {
  return reinterpret_cast<const u8*>(reinterpret_cast<u64>(address) & ~u64{3});
}

inline void copy_async_16(u32 shared, const void* global, bool valid) {
  emulator::async_copy(shared, global, 16, valid ? 16 : 0);
}
inline void copy_async_16_if(bool wanted, u32 shared, const void* global, bool valid) {
  if (wanted) copy_async_16(shared, global, valid);
}
template <int kBytes>
inline void copy_async_small(u32 shared, const void* global, int valid_bytes) {
  static_assert(kBytes == 4 || kBytes == 8, "16 bytes are copy_async_16");
  emulator::async_copy(shared, global, kBytes, static_cast<u32>(valid_bytes));
}
inline void copy_async_commit() { emulator::commit_async_copies(); }
template <int kPending>
inline void copy_async_wait() {
  emulator::wait_for_async_copies(kPending);
}

}  // namespace heddle
