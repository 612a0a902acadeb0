#include "generator/families/gemm_work.h"

#include <algorithm>
#include <cmath>

#include "generator/families/shared_memory.h"

namespace heddle {
namespace {

constexpr double kWeightsOfLane = 16.0 * WeightLayout::kChunkK / 32;
constexpr int kColumns = 16;  // of a matrix instruction of 16 bits

// Whether the operation runs on the units for bits and integers, of which an SM has half as many as
// issue slots.
bool is_integer(DecodeOpcode opcode) {
  switch (opcode) {
    case DecodeOpcode::kSub:
    case DecodeOpcode::kFma:
    case DecodeOpcode::kMulAdd:
    case DecodeOpcode::kMul:
    case DecodeOpcode::kScale:
    case DecodeOpcode::kIntMulAdd:  // the multipliers' units
    case DecodeOpcode::kIntScale:
      return false;
    default:
      return true;
  }
}

double integer_operations(const DecodePlan& decode) {
  const auto count = std::count_if(decode.ops.begin(), decode.ops.end(),
                                   [](const DecodeOp& op) { return is_integer(op.opcode); });
  return kWeightsOfLane * static_cast<double>(count) / decode.elements();
}

double slots(const DecodePlan& decode, double instructions) {
  return std::max(instructions, 2 * integer_operations(decode));
}

double decode_instructions(const GemmRequest& gemm, const DecodePlan& decode, ScaleMode mode) {
  const double loads = kWeightsOfLane * decode.request.bits / 128;  // of 16 bytes
  const bool multiplies = mode == ScaleMode::kWeight && !folds_scale(gemm.spec);
  const double scales = multiplies ? kWeightsOfLane / 2 : 0;  // two weights a register
  const double of_group =
      mode == ScaleMode::kTwoLevels ? 2.0 + static_cast<double>(decode.group_ops.size()) : 2.0;
  return loads + kWeightsOfLane * decode.instructions_per_weight + scales +
         of_group * gemm.layout.groups_per_chunk;
}

// A tile of 16 rows by 8 tokens has four sums in a lane, for each entry of scales.
double scaled_sums(const GemmRequest& gemm, ScaleMode mode) {
  const GemmSpec& spec = gemm.spec;
  const double sums = 4.0 * gemm.layout.groups_per_chunk;
  if (mode == ScaleMode::kAccumulator) return sums;
  // Integers become FP32 first.
  if (mode == ScaleMode::kGroup) return spec.activation == DType::kInt8 ? 2 * sums : sums;
  return 0;
}

// Products of FP8 that are added in the tensor cores are added in FP32 every 128 columns.
double promoted_sums(const GemmRequest& gemm, ScaleMode mode) {
  const GemmSpec& spec = gemm.spec;
  const bool promotes = mode != ScaleMode::kGroup && spec.has_byte_activations() &&
                        spec.activation != DType::kInt8 &&
                        spec.accumulation == Accumulation::kPromoted;
  return promotes ? 4 : 0;
}

}  // namespace

double decode_slots(const GemmRequest& gemm, ScaleMode mode, double token_tiles) {
  const double of_sums = scaled_sums(gemm, mode) + promoted_sums(gemm, mode);
  return slots(gemm.decode, decode_instructions(gemm, gemm.decode, mode) + token_tiles * of_sums);
}

double chunk_slots(const GemmRequest& gemm, const DecodePlan& decode, int columns, ScaleMode mode,
                   double token_tiles) {
  const double products = 1.5 * WeightLayout::kChunkK / columns;
  return slots(decode, decode_instructions(gemm, decode, mode) +
                           token_tiles * (products + scaled_sums(gemm, mode)));
}

double chunk_slots(const GemmRequest& gemm, ScaleMode mode, double token_tiles) {
  return chunk_slots(gemm, gemm.decode, kColumns, mode, token_tiles);
}

double weight_clocks(const GemmRequest& gemm, double copy_bytes, double bytes_per_clock) {
  return static_cast<double>(gemm.layout.total_bytes) * (1 + kLineBytes / copy_bytes) /
         bytes_per_clock;
}

double activation_bytes(const GemmSpec& spec, std::int64_t m) {
  const std::int64_t x = bytes_of(spec.activation) * spec.shape.k;
  const std::int64_t y = bytes_of(spec.output_dtype()) * spec.output_columns();
  return static_cast<double>(m * (x + y));
}

double fetch_clocks(double bytes, double bytes_per_clock, double latency, int ring, double total) {
  const double clocks = bytes / bytes_per_clock;
  const double others = ring - 1;
  const double late = std::max(total - others, 0.0) / total;
  return clocks + late * std::max((latency + clocks) / others - clocks, 0.0);
}

double side_by_side(double one, double other, double exponent) {
  const double longer = std::max(one, other);
  return longer * std::pow(1 + std::pow(std::min(one, other) / longer, exponent), 1 / exponent);
}

}  // namespace heddle
