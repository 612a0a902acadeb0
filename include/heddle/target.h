// Target: the architecture that code is made for, and the device facts that the planner uses.
//
// A Target comes from the device at hand (Runtime::device_target) or, on a machine without a GPU,
// from a table by name. resolve() refuses facts that no GPU has: of a target that is made by hand
// all fields below are set, and shared_per_block is no more than shared_per_sm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"

namespace heddle {

struct Target {
  std::string name;  // "h200", "sm_90" ...
  int major = 0;     // compute capability
  int minor = 0;
  int sm_count = 0;
  int shared_per_block = 0;      // bytes, the opt-in limit of one block
  int shared_per_sm = 0;         // bytes
  int registers_per_sm = 65536;  // 32-bit registers
  int threads_per_sm = 0;
  std::int64_t l2_bytes = 0;
  double memory_gb_per_s = 0;  // data sheet
  double sm_mhz = 0;           // the SMs' boost clock
  // The best that was measured on such a device; 0: not known.
  double tensor_tflops = 0;  // of a dense 16-bit GEMM
  double launch_us = 0;      // of a launch inside a graph, beside the time of its bytes

  // 10 * major + minor: 75, 80, 90, 120 ...
  int arch() const noexcept { return 10 * major + minor; }
};

// The name given to NVRTC: "sm_80"; with the architecture's own features from 9.0 up: "sm_90a".
HEDDLE_EXPORT std::string compiler_arch(const Target& target);

// The one of known_targets() with this name. Throws Error(kUsage, "target.unknown"), listing them.
HEDDLE_EXPORT Target target_from_name(std::string_view name);

// Devices first ("h200", "a100" ...), then architectures ("sm_75" ...), which carry the facts of
// that architecture's usual device.
HEDDLE_EXPORT std::vector<Target> known_targets();

}  // namespace heddle
