// templates/primitives/bulk_copy.cuh in C++.
#pragma once

#include "primitives/types.cuh"
#include "tests/emulator/device.h"

namespace heddle {

inline u64 policy_read_once() { return 0; }
inline void bulk_copy(u32 shared, const void* global, u32 bytes, u32 barrier) {
  emulator::bulk_copy(shared, global, bytes, barrier, 0);
}
inline void bulk_copy_once(u32 shared, const void* global, u32 bytes, u32 barrier, u64) {
  bulk_copy(shared, global, bytes, barrier);
}

}  // namespace heddle
