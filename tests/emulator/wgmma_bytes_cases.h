// The GEMMs of tokens of eight bits whose wgmma kernels are run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_WGMMA_BYTES_CASES_H_
#define HEDDLE_TESTS_EMULATOR_WGMMA_BYTES_CASES_H_

#include <vector>

#include "tests/emulator/wgmma_cases.h"

namespace heddle {

const std::vector<WgmmaCase>& wgmma_bytes_cases();
// Those with scales of groups and blocks.
const std::vector<WgmmaCase>& wgmma_blocks_cases();
// Those of weights of four bits.
const std::vector<WgmmaCase>& wgmma_decoded_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_WGMMA_BYTES_CASES_H_
