// Packed weights: the fragment layout that every tensor core kernel of Heddle reads.
//
// docs/layouts.md describes the bytes. All functions are pure and may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/export.h"
#include "heddle/spec.h"

namespace heddle {

inline constexpr int kLayoutVersion = 6;  // of all packed weights

// Whoever stores packed weights stores kLayoutVersion with them and asks here before they are used:
// throws Error(kUsage, "weights.layout_version") for any other, which no kernel reads.
HEDDLE_EXPORT void check_layout_version(const WeightSpec& weight, int version);

// As above, for their spec, which is stored with them as `heddle repack` does: throws Error(kUsage,
// "weights.mismatch") with every field in which `kernel`, a gemm or a dequantize of packed weights,
// reads the bytes that were packed for `packed` differently, and "weights.no_weight" for a spec
// that packs and reads none.
HEDDLE_EXPORT void check_packed_weights(const Spec& kernel, const Spec& packed);

// Where everything lies. A chunk is a block of kRowBlock rows by a run of kChunkK columns: its
// weights, then the scales of its groups, then their zero points. Row block r's chunk c starts at
// (r * chunks_per_row_block + c) * chunk_bytes. Metadata per channel or tensor follows all chunks,
// at channel_offset + r * channel_bytes, and the tensor's scale all else.
struct WeightLayout {
  static constexpr int kRowBlock = 16;
  static constexpr int kChunkK = 128;

  std::int64_t row_blocks = 0;
  std::int64_t chunks_per_row_block = 0;
  int meta_group = 0;        // columns of an entry of scales: gcd(group size, kChunkK)
  int groups_per_chunk = 0;  // such entries in a chunk; 0 for scales per channel or tensor
  // Entry 0 begins so many columns before the chunk: column k has its scale in entry (k mod kChunkK
  // + entry_offset) / meta_group.
  int entry_offset = 0;
  int chunk_bytes = 0;   // a multiple of 16
  int scale_offset = 0;  // inside a chunk; also the number of bytes of its weights
  int scale_bytes = 0;   // of one entry of the row block: 16 scales
  int zero_offset = 0;   // inside a chunk; == chunk_bytes if there are no zero points
  int zero_bytes = 0;    // of one entry of the row block: 16 zero points, 0 if none
  std::size_t channel_offset = 0;
  int channel_bytes = 0;  // of a row block: scales and zero points; 0 with scales of groups alone
  int channel_zero_offset = 0;  // inside the row block's channel metadata
  int channel_sum_offset = 0;   // there, kSwizzle128b: 16 int32 sums of rows' codes; 0: none
  // Bytes of blocks, at channel_offset + (t * chunks_per_row_block + c) * block_bytes: the FP32
  // scales of the kTileRows rows of tile t in chunk c, rows whose place in their row block is below
  // 8 first. 0: none.
  static constexpr int kTileRows = 64;
  int block_bytes = 0;
  std::size_t tensor_offset = 0;  // of the FP32 tensor scale; == total_bytes if there is none
  std::size_t total_bytes = 0;
};

HEDDLE_EXPORT WeightLayout weight_layout(const GemmSpec& spec);
HEDDLE_EXPORT WeightLayout weight_layout(const MatrixShape& shape, const WeightSpec& weight);

// Quantised weights as plain arrays. The value of row n, column k is (code - zero) * scale *
// tensor_scale, of two levels (code - zero) * scale * channel_scale.
struct QuantizedWeights {
  // [N, K], a byte each; of fp16 and bf16 the weights, two bytes each, native byte order.
  std::vector<std::uint8_t> codes;
  // [N, G] in scale_dtype, native byte order, G = groups_along_k(); column k is of group (k +
  // group_offset) / group_size. Of blocks [ceil(N / group_rows), G]; per tensor one. Empty for fp16
  // and bf16.
  std::vector<std::uint8_t> scales;
  // As many as scales: integers a byte each, floats of scale_dtype. Empty without zero points.
  std::vector<std::uint8_t> zeros;
  float tensor_scale = 1.0f;  // counts with WeightSpec::tensor_scale only
  // [N] of WeightSpec::channel_scale, native byte order; empty without.
  std::vector<std::uint8_t> channel_scales;
};

// Groups that the columns of W touch: the G of QuantizedWeights. Precondition: k > 0.
constexpr std::int64_t groups_along_k(const WeightSpec& weight, std::int64_t k) {
  return weight.group_size > 0 ? (k - 1 + weight.group_offset) / weight.group_size + 1 : 1;
}

// Rows are in the order of the checkpoint, also with a gated epilogue. Throw Error(kUsage) for
// arrays of another size, Error(kSpec) and Error(kUnsupported) for a spec that is refused on every
// target, and "weights.group_scale" for the first scale of two levels that is not 1 to 127 or whose
// product with a code is no INT8.
HEDDLE_EXPORT std::vector<std::uint8_t> pack_weights(const GemmSpec& spec,
                                                     const QuantizedWeights& weights);
HEDDLE_EXPORT QuantizedWeights unpack_weights(const GemmSpec& spec, const std::uint8_t* packed,
                                              std::size_t packed_bytes);

// W, [N, K] row-major, the bits of spec.dtype, to the nearest codes: the bits of a quantize_weight
// kernel (docs/spec.md). Scales in two levels are made here alone. Throws Error(kUsage) for another
// size, Error(kUnsupported) for codes, scales or zero points that it makes none of.
HEDDLE_EXPORT QuantizedWeights quantize_weights(const WeightOpSpec& spec,
                                                const std::vector<std::uint16_t>& w);

}  // namespace heddle
