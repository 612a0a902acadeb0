// The kernels of the small models, compiled for the CPU.
#ifndef HEDDLE_TESTS_DECODER_EMULATED_KERNELS_H_
#define HEDDLE_TESTS_DECODER_EMULATED_KERNELS_H_

#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "tests/emulator/attention_kernels.h"
#include "tests/emulator/gemm_kernels.h"
#include "tests/emulator/kv_append_kernels.h"
#include "tests/emulator/moe_kernels.h"
#include "tests/emulator/row_kernels.h"

namespace heddle {

// Each of one kernel, for the GPU at hand, as examples/decoder launches it for three sequences.
struct DecoderPlans {
  std::vector<Plan> tiles, attention, append, rows, experts, few_experts;
};
DecoderPlans decoder_plans();

// In the order of the plans.
extern const std::vector<GemmOnCpu*> decoder_tiles_kernels;
extern const std::vector<AttentionKernel*> decoder_attention_kernels;
extern const std::vector<KvAppendOnCpu*> decoder_append_kernels;
extern const std::vector<RowKernel*> decoder_rows_kernels;
extern const std::vector<MoeOnCpu*> decoder_experts_kernels;
extern const std::vector<MoeOnCpu*> decoder_few_experts_kernels;

}  // namespace heddle

#endif  // HEDDLE_TESTS_DECODER_EMULATED_KERNELS_H_
