// The kernels of invariant_groups(), compiled for the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_INVARIANT_KERNELS_H_
#define HEDDLE_TESTS_EMULATOR_INVARIANT_KERNELS_H_

#include <vector>

#include "tests/emulator/bulk_kernels.h"
#include "tests/emulator/byte_tiles_kernels.h"
#include "tests/emulator/gemm_kernels.h"
#include "tests/emulator/moe_kernels.h"
#include "tests/emulator/wgmma_bytes_kernels.h"
#include "tests/emulator/wgmma_kernels.h"

namespace heddle {

// Each in the order of invariant_plans() of the kind.
extern const std::vector<GemmOnCpu*> invariant_gemm_kernels;
extern const std::vector<BulkKernel*> invariant_bulk_kernels;
extern const std::vector<WgmmaKernel*> invariant_wgmma_kernels;
extern const std::vector<WgmmaBytesKernel*> invariant_bytes_kernels;
extern const std::vector<WgmmaBlocksKernel*> invariant_blocks_kernels;
extern const std::vector<ByteTilesOnCpu*> invariant_byte_tiles_kernels;
extern const std::vector<MoeOnCpu*> invariant_moe_kernels;
extern const std::vector<MoeByWgmmaOnCpu*> invariant_moe_wgmma_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_INVARIANT_KERNELS_H_
