// Packed weights: the fragment layout that every tensor core kernel of Heddle reads.
//
// docs/layouts.md describes the bytes. All functions are pure and may be called from any thread.
#ifndef HEDDLE_WEIGHTS_H_
#define HEDDLE_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/export.h"
#include "heddle/spec.h"

namespace heddle {

inline constexpr int kLayoutVersion = 1;

// Where everything lies. A chunk is a block of kRowBlock rows by a run of kChunkK columns: first
// its weights, then the scales of its groups, then their zero points. Row block r's chunk c starts
// at (r * chunks_per_row_block + c) * chunk_bytes. Per-channel metadata follows all the chunks, at
// channel_offset + r * channel_bytes.
struct WeightLayout {
  static constexpr int kRowBlock = 16;
  static constexpr int kChunkK = 128;

  std::int64_t row_blocks = 0;
  std::int64_t chunks_per_row_block = 0;
  int groups_per_chunk = 0;  // 0 for per-channel scales
  int chunk_bytes = 0;       // a multiple of 16
  int scale_offset = 0;      // inside a chunk; also the number of bytes of its weights
  int scale_bytes = 0;       // of one group of the row block: 16 scales
  int zero_offset = 0;       // inside a chunk; == chunk_bytes if there are no zero points
  int zero_bytes = 0;        // of one group of the row block: 16 zero points, 0 if none
  std::size_t channel_offset = 0;
  int channel_bytes = 0;  // of one row block: its scales and zero points, padded; 0 if grouped
  int channel_zero_offset = 0;  // inside the row block's channel metadata
  std::size_t total_bytes = 0;
};

HEDDLE_EXPORT WeightLayout weight_layout(const GemmSpec& spec);

// Quantised weights as plain arrays; the value of row n, column k is
// (code - zero) * scale, with the code's type and the fixed bias as WeightSpec says.
struct QuantizedWeights {
  std::vector<std::uint8_t> codes;   // [N, K], each in the low `bits` bits
  std::vector<std::uint8_t> scales;  // [N, G] in scale_dtype, native byte order; G = K / group_size
  std::vector<std::uint8_t>
      zeros;  // [N, G], each of the codes' type; empty without integer zero points
};

// Throw Error(kUsage) when an array has not the size that the spec asks for.
HEDDLE_EXPORT std::vector<std::uint8_t> pack_weights(const GemmSpec& spec,
                                                     const QuantizedWeights& weights);
HEDDLE_EXPORT QuantizedWeights unpack_weights(const GemmSpec& spec, const std::uint8_t* packed,
                                              std::size_t packed_bytes);

}  // namespace heddle

#endif  // HEDDLE_WEIGHTS_H_
