// Fixed-width types: NVRTC has no <cstdint>, and needs none.
#pragma once

namespace heddle {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

// Four registers that move as one 16-byte access.
struct alignas(16) u32x4 {
  u32 x, y, z, w;
};
// Four floats. Accesses that take them as they are spare the compiler a move for each.
struct alignas(16) f32x4 {
  float x, y, z, w;
};

}  // namespace heddle
