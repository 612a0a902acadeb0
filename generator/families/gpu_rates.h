// What a GPU does in a clock of its SMs, from the facts of the target alone.
#ifndef HEDDLE_GENERATOR_FAMILIES_GPU_RATES_H_
#define HEDDLE_GENERATOR_FAMILIES_GPU_RATES_H_

#include "heddle/target.h"

namespace heddle {

struct GpuRates {
  double clocks_per_us = kMhz;
  double memory_bytes = 0;  // a clock, of the whole GPU

  explicit GpuRates(const Target& target) {
    if (target.sm_mhz > 0) clocks_per_us = target.sm_mhz;
    const double gb_per_s = target.memory_gb_per_s > 0 ? target.memory_gb_per_s : kGbPerS;
    memory_bytes = kReached * 1e3 * gb_per_s / clocks_per_us;
  }

  // Part of the data sheet's bandwidth that a streaming read gets on an H100.
  static constexpr double kReached = 0.92;
  // Taken for a GPU whose clock or bandwidth is not known.
  static constexpr double kMhz = 1700, kGbPerS = 1000;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GPU_RATES_H_
