// The GEMMs of two operands of eight bits whose kernels on mma.sync are run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_BYTE_TILES_CASES_H_
#define HEDDLE_TESTS_EMULATOR_BYTE_TILES_CASES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct ByteTilesCase {
  std::string name;
  GemmSpec spec;  // whose range of M one kernel serves

  // The GEMM of INT8 whose kernel with wgmma must give the same bits: its number in
  // wgmma_bytes_cases().
  std::optional<std::size_t> as_wgmma = std::nullopt;

  const char* gpu = "h200";  // whose mma.sync has FP16 in place of FP8

  Plan plan() const;  // of one kernel
};

const std::vector<ByteTilesCase>& byte_tiles_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_BYTE_TILES_CASES_H_
