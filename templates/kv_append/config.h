// The configuration of kv_append.cuh.
#pragma once

#include "kv/config.h"

namespace heddle::device {

// Which elements of a row of K, or of Q, turn together.
HEDDLE_SPEC_ENUM(RopePairing, kNone, kNeox, kGptj);

// Lanes of a warp take a row together, so many elements each: two runs of eight.
constexpr int kLaneElements = 16;
// A lane's elements of a row in shared memory.
constexpr int kLaneBytes = 2 * kLaneElements;
// The range of the values of a token: its largest magnitudes on both sides of zero.
constexpr int kTokenRangeBytes = 8;
// In shared memory 16 channels and 16 empty bytes take turns, so that lanes which read 16 channels
// apart meet no other's bank: two words of each channel's scale, one of each side of its range.
constexpr int kScaleRunBytes = 16 * 8 + 16;
constexpr int kRangeRunBytes = 16 * 4 + 16;

// K or V: what its values become.
struct KvTensorConfig {
  int bits;           // of a code
  bool is_16_bit;     // values of 16 bits and no codes
  bool is_bf16;       // these are bfloat16
  bool of_input;      // these have the type of the new K and V
  bool is_float;      // codes are floats, else integers
  int exponent_bits;  // of float codes
  int mantissa_bits;
  int largest_code;  // that of the largest finite magnitude
  bool asymmetric;   // integers have a zero point beside each scale
  int low;           // integers are from low to high
  int high;
  int bias;     // the code of zero without zero points
  int divisor;  // a scale is the largest magnitude, or the width of the range, over this
  KvGranularity granularity;
  int group_size;     // kGroup: elements of a row; kChannel: tokens of a block
  bool given_factor;  // scales are multiples of a factor that the launch gives
  ScaleType scale_type;
  int nan_scale;        // the scale of values that are not all finite
  int row_bytes;        // codes of a head of a token
  int scale_row_bytes;  // their scales; with kToken those of all heads of a token
  int scale_heads;      // rows of scales of a token

  // Bytes of a stored scale, and of one with its zero point.
  HEDDLE_BOTH constexpr int scale_bytes() const { return bytes_of_scale(scale_type); }
  HEDDLE_BOTH constexpr int entry_bytes() const {
    return asymmetric ? 2 * scale_bytes() : scale_bytes();
  }
  // Values of a range: without zero points both sides of zero have the same.
  HEDDLE_BOTH constexpr int range_sides() const { return asymmetric ? 2 : 1; }

  HEDDLE_FIELDS(bits, is_16_bit, is_bf16, of_input, is_float, exponent_bits, mantissa_bits,
                largest_code, asymmetric, low, high, bias, divisor, granularity, group_size,
                given_factor, scale_type, nan_scale, row_bytes, scale_row_bytes, scale_heads)
};

// Thread blocks that share Q's heads of a tile of tokens, where `head_parts` share those of K: none
// takes more heads than one of K does.
HEDDLE_BOTH constexpr int query_parts_of(int heads, int query_heads, int head_parts) {
  const int heads_of_part = (heads + head_parts - 1) / head_parts;
  return (query_heads + heads_of_part - 1) / heads_of_part;
}

// Q's rows: 16-bit values of the type that they come in.
HEDDLE_BOTH constexpr KvTensorConfig query_tensor(int head_dim) {
  KvTensorConfig tensor{};
  tensor.bits = 16;
  tensor.is_16_bit = true;
  tensor.of_input = true;
  tensor.exponent_bits = 1;  // SmallFloat wants some format
  tensor.divisor = 1;
  tensor.granularity = KvGranularity::kNone;
  tensor.row_bytes = 2 * head_dim;
  return tensor;
}

struct KvAppendConfig {
  int heads;     // of K, and of V
  int head_dim;  // elements of a row
  int lanes;     // of a row: a power of two
  int tokens;    // of a thread block
  int slots;     // threads that share the heads of a token at the same lane
  int stages;    // rows of a thread that are under way
  bool hnd;      // a page is [heads][tokens][head_dim], else [tokens][heads][head_dim]
  bool paged;
  int page_size;         // tokens; 0 without pages
  RopePairing rope;      // of K and Q
  int rope_dim;          // elements that turn, the first ones of a row
  bool rope_table;       // by cosines and sines that the launch gives
  int rope_factor_bits;  // FP32 that cosines and sines are multiplied by; those of 1: they are not
  int query_heads;       // of Q; 0: there is none
  int epsilon_bits;      // FP32, of the norm of K's and Q's heads; 0: there is none
  int weight_offset;     // added to each weight of the norm
  bool async_copies;     // the GPU copies to shared memory by itself
  bool dependent;        // the kernel starts while the one before it still runs
  KvTensorConfig k;
  KvTensorConfig v;

  HEDDLE_BOTH constexpr bool normalizes() const { return epsilon_bits != 0; }
  // A lane's two runs of elements are neighbours behind the first span_of() elements of a row; of
  // these it has one in each half, so that runs of the pairing kNeox turn with each other. Of a
  // tensor with groups the span is 0 where these are neither whole runs of lanes in each half of it
  // nor hold all of it.
  HEDDLE_BOTH constexpr int span_of(const KvTensorConfig& tensor, bool rotates) const {
    const int span = rotates && rope == RopePairing::kNeox ? rope_dim : head_dim;
    const bool fits = tensor.granularity != KvGranularity::kGroup ||
                      span / 2 % tensor.group_size == 0 || tensor.group_size % span == 0;
    return fits ? span : 0;
  }

  HEDDLE_BOTH constexpr int query_parts(int head_parts) const {
    return query_parts_of(heads, query_heads, head_parts);
  }

  // Whole warps.
  HEDDLE_BOTH constexpr int threads() const { return (tokens * slots * lanes + 31) / 32 * 32; }
  // Tokens of a block with scales per channel that a thread block takes at a time, and how often.
  HEDDLE_BOTH constexpr int channel_tokens() const { return threads() / lanes; }
  HEDDLE_BOTH constexpr int channel_rounds() const {
    return (k.group_size + channel_tokens() - 1) / channel_tokens();
  }

  // Shared memory of rows: of each stage all threads' elements; then the ranges of tokens.
  HEDDLE_BOTH constexpr int stage_bytes() const { return kLaneBytes * threads(); }
  HEDDLE_BOTH constexpr int token_ranges_offset() const { return stages * stage_bytes(); }
  HEDDLE_BOTH constexpr int rows_bytes() const {
    const bool by_token =
        k.granularity == KvGranularity::kToken || v.granularity == KvGranularity::kToken;
    return token_ranges_offset() + (by_token ? tokens * kTokenRangeBytes : 0);
  }

  // Shared memory of K with scales per channel: a flag in 16 bytes, the channels' scales, their
  // ranges in each warp's tokens; then all values of the tokens that share them.
  HEDDLE_BOTH constexpr int channel_ranges_offset() const {
    return 16 + head_dim / 16 * kScaleRunBytes;
  }
  HEDDLE_BOTH constexpr int channel_values_offset() const {
    const int of_warp = k.range_sides() * (head_dim / 16) * kRangeRunBytes;
    return channel_ranges_offset() + threads() / 32 * of_warp;
  }
  HEDDLE_BOTH constexpr int channel_bytes() const {
    return channel_values_offset() + channel_rounds() * stage_bytes();
  }

  HEDDLE_BOTH constexpr int shared_bytes() const {
    return k.granularity == KvGranularity::kChannel ? max_of(rows_bytes(), channel_bytes())
                                                    : rows_bytes();
  }

  HEDDLE_FIELDS(heads, head_dim, lanes, tokens, slots, stages, hnd, paged, page_size, rope,
                rope_dim, rope_table, rope_factor_bits, query_heads, epsilon_bits, weight_offset,
                async_copies, dependent, k, v)
};

}  // namespace heddle::device
