// The GEMMs whose Y has eight bits and whose kernels are run on the CPU, of every family.
#ifndef HEDDLE_TESTS_EMULATOR_CODES_CASES_H_
#define HEDDLE_TESTS_EMULATOR_CODES_CASES_H_

#include <functional>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "tests/emulator/wgmma_cases.h"

namespace heddle {

struct CodesCase {
  std::string name;
  std::function<Plan()> plan;  // of one kernel
};

// gemv, stream and tiles; tiles that bulk copies feed.
const std::vector<CodesCase>& codes_cases();
const std::vector<CodesCase>& codes_bulk_cases();
// Tiles of two operands of eight bits; "Groups" is the GEMM of codes_bytes_cases() of that name.
const std::vector<CodesCase>& codes_byte_tiles_cases();
// wgmma with tokens of 16 bits, of eight, and of eight with blocks.
const std::vector<WgmmaCase>& codes_wgmma_cases();
const std::vector<WgmmaCase>& codes_bytes_cases();
const std::vector<WgmmaCase>& codes_blocks_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_CODES_CASES_H_
