// templates/primitives/codes.cuh in C++.
#pragma once

#include "primitives/types.cuh"
#include "tests/emulator/byte_arithmetic.h"

namespace heddle {

struct Int8Codes {
  using Sum = u32;
  static constexpr emulator::Codes kCodes = emulator::Codes::kInt8;
};
struct E4m3Codes {
  using Sum = float;
  static constexpr emulator::Codes kCodes = emulator::Codes::kE4m3;
};
struct E5m2Codes {
  using Sum = float;
  static constexpr emulator::Codes kCodes = emulator::Codes::kE5m2;
};

}  // namespace heddle
