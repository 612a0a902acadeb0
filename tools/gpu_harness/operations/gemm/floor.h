// What no GEMM kernel can beat on a device.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_FLOOR_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_FLOOR_H_

#include <cstdint>

#include "heddle/spec.h"
#include "heddle/target.h"

namespace heddle {

// Bytes that a launch with M tokens must read and write at least once.
double traffic_bytes(const GemmSpec& spec, std::int64_t m);

// Microseconds: a launch and its bytes at the rate at which the device streams or, where that takes
// longer, the products in its tensor cores. Facts that the target lacks bound nothing.
double floor_us(const GemmSpec& spec, std::int64_t m, const Target& device, double read_tb_per_s);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_FLOOR_H_
