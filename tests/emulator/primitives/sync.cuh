// templates/primitives/sync.cuh in C++: what streams use of it.
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

inline bool elect_one() {
  emulator::warp_together("elect.sync");
  return emulator::lane() == emulator::elected_lane();
}

}  // namespace heddle
