// templates/primitives/memory.cuh in C++: what streams and wgmma use of it.
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
inline u64 load_shared_8(u32 address) { return load_shared_as<u64>(address); }
inline u32 load_shared_4(u32 address) { return load_shared_as<u32>(address); }
inline u32 load_shared_2(u32 address) { return load_shared_as<u16>(address); }
inline u32 load_shared_1(u32 address) { return load_shared_as<u8>(address); }

inline void store_shared_16(u32 address, u32x4 v) { emulator::store_shared(address, &v, 16); }
inline void store_shared_4(u32 address, u32 v) { emulator::store_shared(address, &v, 4); }
inline void store_shared_float(u32 address, float v) { emulator::store_shared(address, &v, 4); }

inline u32x4 load_global_16(const void* address) {
  emulator::check_global(address, 16, false);
  return *static_cast<const u32x4*>(address);
}
inline u32x4 load_global_16_coherent(const void* address) { return load_global_16(address); }
inline u32x4 load_global_16_l2(const void* address) { return load_global_16(address); }
inline void store_global_16(void* address, u32x4 v) {
  emulator::check_global(address, 16, true);
  *static_cast<u32x4*>(address) = v;
}

}  // namespace heddle
