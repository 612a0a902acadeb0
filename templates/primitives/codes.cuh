// Codes of eight bits that the matrix instructions multiply as they are.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// What the codes are, and what holds sums of their products: of INT8 integers, whatever their sign.
struct Int8Codes {
  using Sum = u32;
};
struct E4m3Codes {
  using Sum = float;
};
struct E5m2Codes {
  using Sum = float;
};

}  // namespace heddle
