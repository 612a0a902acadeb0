// templates/primitives/warpgroup.cuh in C++.
#pragma once

#include "tests/emulator/device.h"

namespace heddle {

template <int kRegisters>
inline void shrink_registers() {}
template <int kRegisters>
inline void grow_registers() {}
inline void warpgroup_barrier(int barrier) { emulator::numbered_barrier(barrier, 128); }
template <int kWarpgroups>
inline void warpgroups_barrier(int barrier) {
  emulator::numbered_barrier(barrier, 128 * kWarpgroups);
}

}  // namespace heddle
