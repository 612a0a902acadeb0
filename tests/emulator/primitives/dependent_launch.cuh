// templates/primitives/dependent_launch.cuh in C++.
#pragma once

#include "tests/emulator/device.h"

namespace heddle {

inline void launch_dependents() {}
inline void wait_for_predecessor() { emulator::predecessor_has_ended(); }

}  // namespace heddle
