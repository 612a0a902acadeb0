// templates/primitives/mbarrier.cuh in C++.
#pragma once

#include "primitives/types.cuh"
#include "tests/emulator/device.h"

namespace heddle {

inline void mbarrier_init(u32 barrier, u32 arrivals) { emulator::mbarrier_init(barrier, arrivals); }
inline void mbarrier_init_fence() { emulator::mbarrier_init_fence(); }
inline void mbarrier_arrive(u32 barrier) { emulator::mbarrier_arrive(barrier, 0); }
inline void mbarrier_arrive_if(bool arrives, u32 barrier) {
  if (arrives) emulator::mbarrier_arrive(barrier, 0);
}
inline void mbarrier_arrive_expect(u32 barrier, u32 bytes) {
  emulator::mbarrier_arrive(barrier, bytes);
}
inline void mbarrier_wait(u32 barrier, u32 parity) {
  emulator::mbarrier_wait(barrier, parity, false);
}

}  // namespace heddle
