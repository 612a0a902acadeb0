// Packed weights, for the kernels that read or write them: docs/layouts.md has the bytes.
#pragma once

#include "config/config.h"
#include "packing/chunk_shape.h"

namespace heddle::device {

// Where the codes of a chunk lie.
HEDDLE_ENUM(ChunkOrder,
            kWords,          // words of lanes, one after the other
            kRowLines,       // TensorRT-LLM's: a line has 64 columns of a few rows
            kSwizzledRows);  // rows of 128 codes of 8 bits, units of 16 permuted: swizzle_128b

// What GPTQ's first version has taken from the zero points of a checkpoint, or nothing: one from
// each field, by one subtraction from each 32-bit word, so that a field of 0 borrows from the next.
// Fields of 3 bits, which lie across words, have each lost one, modulo 2^bits.
struct GptqZeroBias {
  int bits;
  int bias;  // 1: the first version

  HEDDLE_BOTH constexpr bool by_words() const { return 32 % bits == 0; }
  // What is to be added to a word, and to a field.
  HEDDLE_BOTH constexpr unsigned of_word() const {
    return by_words() ? static_cast<unsigned>(bias) * (0xffffffffu / ((1u << bits) - 1)) : 0u;
  }
  HEDDLE_BOTH constexpr unsigned of_field() const {
    return by_words() ? 0u : static_cast<unsigned>(bias);
  }
};

// Offsets and sizes are in bytes. An entry has the scales, or the zero points, that 16 rows have in
// one run of columns.
struct PackedLayout {
  int bits;                 // of a code
  int row_blocks;           // of W, 16 rows each
  int chunks;               // of a row block
  int chunk_bytes;          // codes, then entries of scales, then entries of zero points
  int group;                // columns that share a scale; all of a row's if scales are per channel
  int group_offset;         // the column of its first group at which W begins
  int entries;              // of scales in a chunk; 0: scales are per channel, behind all chunks
  int meta_group;           // columns of an entry
  int entry_offset;         // columns by which entry 0 begins before the chunk
  int scale_offset;         // in a chunk; also the bytes of its codes
  int scale_bytes;          // of an entry of scales
  int zero_offset;          // in a chunk
  int zero_bytes;           // of an entry of zero points; 0: there are none
  i64 channel_offset;       // of the entries per channel
  int channel_bytes;        // of a row block's entries per channel
  int channel_zero_offset;  // in a row block's entries per channel
  int channel_sum_offset;   // the same: int32 sums of the rows' codes; 0: there are none
  int block_bytes;          // at channel_offset, for kTileRows rows and a chunk: two FP32 scales of
                            // blocks of kBlockRows rows by a chunk's columns; 0: there are none
  i64 tensor_offset;        // of the scale of the whole tensor
  int padding_code;         // the code of rows and columns that pad W
  ChunkOrder order;
  // For gated epilogues: a row block has 8 rows of W's first half and their 8 of its second half.
  bool gated;

  static constexpr int kTileRows = 64;
  static constexpr int kBlockRows = 128;

  HEDDLE_BOTH constexpr bool per_channel() const { return entries == 0; }
  HEDDLE_BOTH constexpr bool by_blocks() const { return block_bytes != 0; }
  // The entry of a chunk's column, and the first column of the chunk that an entry has.
  HEDDLE_BOTH constexpr int entry(int column) const { return (column + entry_offset) / meta_group; }
  HEDDLE_BOTH constexpr int first_column(int entry) const {
    return entry_offset == 0 ? entry * meta_group : max_of(0, entry * meta_group - entry_offset);
  }
  // Whether an entry begins for a chunk at its column.
  HEDDLE_BOTH constexpr bool begins_entry(int column) const {
    return column == 0 || (column + entry_offset) % meta_group == 0;
  }
  // The group of a column of W.
  HEDDLE_BOTH constexpr int group_of(int column) const { return (column + group_offset) / group; }
  // Bytes of one scale, and of the zero points of rows g and g + 8.
  HEDDLE_BOTH constexpr int scale_width() const { return scale_bytes / Chunk::kRows; }
  HEDDLE_BOTH constexpr int zero_width() const { return zero_bytes / (Chunk::kRows / 2); }
  // Which of W's `n` rows is row `row` of the row blocks, counted from the first one's. Runs of
  // eight packed rows from a multiple of eight on are eight rows of W. Where there are rows that
  // pad W, they are the last ones, and gated weights have none: n is a multiple of 16 then.
  HEDDLE_BOTH constexpr int row_of_w(int row, int n) const {
    constexpr int kHalf = Chunk::kRows / 2;
    if (!gated) return row;
    return row / Chunk::kRows * kHalf + row % kHalf + row / kHalf % 2 * (n / 2);
  }
  // The row of the row blocks that is row `row` of W.
  HEDDLE_BOTH constexpr int packed_row(int row, int n) const {
    constexpr int kHalf = Chunk::kRows / 2;
    if (!gated) return row;
    const int of_half = row % (n / 2);
    return of_half / kHalf * Chunk::kRows + of_half % kHalf + row / (n / 2) * kHalf;
  }

  HEDDLE_FIELDS(bits, row_blocks, chunks, chunk_bytes, group, group_offset, entries, meta_group,
                entry_offset, scale_offset, scale_bytes, zero_offset, zero_bytes, channel_offset,
                channel_bytes, channel_zero_offset, channel_sum_offset, block_bytes, tensor_offset,
                padding_code, order, gated)
};

}  // namespace heddle::device
