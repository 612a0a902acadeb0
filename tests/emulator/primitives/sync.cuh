// templates/primitives/sync.cuh in C++: what streams and wgmma use of it.
#pragma once

#include "primitives/types.cuh"
#include "tests/emulator/device.h"

namespace heddle {

inline void block_barrier() { emulator::block_barrier(); }
inline void warp_barrier() { emulator::warp_barrier(); }

inline u32 broadcast(u32 value, int lane) {
  struct Lane {
    u32 value;
    int from;
  } mine{value, lane};
  emulator::warp_together("shfl", &mine, [](const emulator::WarpArguments& lanes) {
    u32 values[32];
    for (int i = 0; i < 32; ++i) values[i] = static_cast<Lane*>(lanes[i])->value;
    for (int i = 0; i < 32; ++i) {
      Lane& lane = *static_cast<Lane*>(lanes[i]);
      lane.value = values[lane.from];
    }
  });
  return mine.value;
}

// Other threads may come before and after all of these.
inline void device_fence() { emulator::give_way(); }
inline u32 atomic_add(u32* address, u32 value) {
  emulator::give_way();
  emulator::check_global(address, 4, true);
  const u32 old = *address;
  *address += value;
  emulator::give_way();
  return old;
}
inline u32 load_acquire(const u32* address) {
  emulator::give_way();
  emulator::check_global(address, 4, false);
  const u32 value = *address;
  emulator::give_way();
  return value;
}

inline bool elect_one() {
  emulator::warp_together("elect.sync");
  return emulator::lane() == emulator::elected_lane();
}

}  // namespace heddle
