// templates/primitives/sync.cuh in C++: what the emulated kernels use of it.
#pragma once

#include <algorithm>

#include "primitives/types.cuh"
#include "tests/emulator/device.h"

namespace heddle {

inline void block_barrier(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::block_barrier(file, line);
}
inline void warp_barrier() { emulator::warp_barrier(); }

// Each lane gets the value of the lane that it names.
template <class T>
inline T shuffle(const char* name, T value, int lane) {
  struct Lane {
    T value;
    int from;
  } mine{value, lane};
  emulator::warp_together(name, &mine, [](const emulator::WarpArguments& lanes) {
    T values[32];
    for (int i = 0; i < 32; ++i) values[i] = static_cast<Lane*>(lanes[i])->value;
    for (int i = 0; i < 32; ++i) {
      Lane& lane = *static_cast<Lane*>(lanes[i]);
      lane.value = values[lane.from & 31];
    }
  });
  return mine.value;
}
inline u32 broadcast(u32 value, int lane) { return shuffle("shfl.idx", value, lane); }
inline u32 shuffle(u32 value, int lane) { return shuffle("shfl.idx", value, lane); }
inline float shuffle_xor(float value, int mask) {
  return shuffle("shfl.bfly", value, static_cast<int>(emulator::lane()) ^ mask);
}
void shuffle_xor(u32 value, int mask) = delete;  // it would become a float
inline int shuffle_up(int value, int lanes) {
  const int lane = static_cast<int>(emulator::lane());
  return shuffle("shfl.up", value, lane < lanes ? lane : lane - lanes);
}
inline u32 shuffle_down_8(u32 value) {
  const int lane = static_cast<int>(emulator::lane());
  return shuffle("shfl.down", value, lane % 16 < 8 ? lane + 8 : lane);
}
inline int sum_of_lanes(int value) {
  emulator::warp_together("redux.add", &value, [](const emulator::WarpArguments& lanes) {
    int sum = 0;
    for (void* lane : lanes) sum += *static_cast<int*>(lane);
    for (void* lane : lanes) *static_cast<int*>(lane) = sum;
  });
  return value;
}
inline u32 max_of_lanes(u32 value) {
  emulator::warp_together("redux.max", &value, [](const emulator::WarpArguments& lanes) {
    u32 most = 0;
    for (void* lane : lanes) most = std::max(most, *static_cast<u32*>(lane));
    for (void* lane : lanes) *static_cast<u32*>(lane) = most;
  });
  return value;
}
inline bool any_lane(bool condition) {
  u32 any = condition;
  emulator::warp_together("vote.any", &any, [](const emulator::WarpArguments& lanes) {
    u32 all = 0;
    for (void* lane : lanes) all |= *static_cast<u32*>(lane);
    for (void* lane : lanes) *static_cast<u32*>(lane) = all;
  });
  return any != 0;
}

inline u32 ballot(bool value) {
  u32 bits = value;
  emulator::warp_together("vote.ballot", &bits, [](const emulator::WarpArguments& lanes) {
    u32 all = 0;
    for (int i = 0; i < 32; ++i) all |= *static_cast<u32*>(lanes[i]) << i;
    for (void* lane : lanes) *static_cast<u32*>(lane) = all;
  });
  return bits;
}
inline void shared_max(u32 address, u32 value) { emulator::shared_max(address, value); }
inline void shared_min(u32 address, u32 value) { emulator::shared_min(address, value); }
inline void shared_add(u32 address, u32 value) { emulator::shared_add(address, value); }

inline void device_fence() { emulator::device_fence(); }
inline u32 atomic_add(u32* address, u32 value) { return emulator::atomic_add(address, value); }
inline u32 load_acquire(const u32* address) { return emulator::load_acquire(address); }

inline bool elect_one() {
  emulator::warp_together("elect.sync");
  return emulator::lane() == emulator::elected_lane();
}

}  // namespace heddle
