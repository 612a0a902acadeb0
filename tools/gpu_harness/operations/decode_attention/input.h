// Input of decode_attention on the host.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_INPUT_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_INPUT_H_

#include <array>
#include <cstdint>
#include <vector>

namespace heddle {

struct AttentionProblem {
  std::vector<std::int32_t> lengths;
  std::int64_t pages = 0;
  std::int64_t page_tokens = 0;
  std::int64_t table_stride = 0;
  std::vector<std::int32_t> block_table;           // pages in a random order; empty if contiguous
  std::array<std::vector<std::uint8_t>, 2> codes;  // of K, of V
  std::array<std::vector<std::uint8_t>, 2> scales;
  std::array<float, 4> given{};  // scale and zero point of K, of V
  // With scales per channel of K: the window, and each sequence's slot, in a random order. A
  // contiguous cache has no slots: a sequence's is its number.
  std::vector<std::uint16_t> residual;
  std::vector<std::int32_t> residual_slots;
  std::int64_t residual_slot_count = 0;
  std::vector<std::uint16_t> q;
  std::vector<float> slopes;
  std::vector<float> sinks;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_INPUT_H_
