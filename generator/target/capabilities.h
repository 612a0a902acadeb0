// What the instructions of a target can do. Every comparison of an architecture's number is here,
// but for the compiler's names of architectures (target.cc).
#ifndef HEDDLE_GENERATOR_TARGET_CAPABILITIES_H_
#define HEDDLE_GENERATOR_TARGET_CAPABILITIES_H_

#include "heddle/target.h"

namespace heddle {

// A target of which nothing is known but its architecture: 75, 80 ...
inline Target target_of_arch(int arch) {
  Target target;
  target.major = arch / 10;
  target.minor = arch % 10;
  return target;
}

// mma.sync of FP16 with FP32 sums, m16n8k8.
inline bool has_tensor_cores(const Target& target) noexcept { return target.arch() >= 75; }
// Arithmetic and mma.sync of bfloat16; m16n8k16.
inline bool has_bf16(const Target& target) noexcept { return target.arch() >= 80; }
// mma.sync of FP8, m16n8k32; of INT8 all that have tensor cores here.
inline bool has_fp8_mma(const Target& target) noexcept { return target.arch() >= 89; }
// Whether it is one instruction. Where wgmma or tcgen05 multiply FP8 the compiler makes FP16 of the
// codes for it.
inline bool has_fp8_units(const Target& target) noexcept {
  return target.arch() == 89 || target.arch() >= 120;
}
// cp.async.
inline bool has_async_copies(const Target& target) noexcept { return target.arch() >= 80; }
// cp.async.bulk, tensor maps and mbarriers that count bytes.
inline bool has_bulk_copies(const Target& target) noexcept { return target.arch() >= 90; }
// Thread blocks of a cluster whose bulk copies reach the shared memory of all of them.
inline bool has_multicast(const Target& target) noexcept {
  return target.arch() >= 90 && target.arch() < 120;
}
// griddepcontrol: a kernel may start before the one before it has ended.
inline bool has_dependent_launch(const Target& target) noexcept { return target.arch() >= 90; }
// wgmma.mma_async, which sm_90a alone has; a family for tcgen05 would ask for has_tcgen05.
inline bool has_wgmma(const Target& target) noexcept { return target.arch() == 90; }

// Products of 16-bit numbers with FP32 sums that mma.sync makes on an SM in a clock, of 8-bit ones
// twice as many; NVIDIA's white papers. From Hopper on it has half of what the newer instructions
// have.
inline double mma_products(const Target& target) noexcept {
  const bool has_large_sms = target.arch() == 80 || (target.arch() >= 90 && target.arch() < 120);
  return has_large_sms ? 1024 : 512;
}

// Choices that were measured on this generation alone, whatever others have the instructions for.
inline bool is_hopper(const Target& target) noexcept { return target.arch() == 90; }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TARGET_CAPABILITIES_H_
