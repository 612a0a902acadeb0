// The inner loop of packing codes in fragment order: what fragment_element and the plan's bit_of
// say, eight columns of a row at a time.
#ifndef HEDDLE_GENERATOR_LAYOUT_PACK_PAIRS_H_
#define HEDDLE_GENERATOR_LAYOUT_PACK_PAIRS_H_

#include <cstdint>

#include "generator/decode/decode_plan.h"

namespace heddle {

// Where the codes of a chunk's rows begin, one byte to a code, of 16 bits two: row g < 8 of the row
// block at lower + g * stride, row g + 8 at upper + g * stride.
struct ChunkRows {
  const std::uint8_t* lower;
  const std::uint8_t* upper;
  std::int64_t stride;  // bytes
};

// Packs the codes of a whole chunk, 16 rows by WeightLayout::kChunkK columns, into the chunk's
// first bytes. Bits above the code's width are ignored.
using PackChunk = void (*)(const ChunkRows& codes, std::uint8_t* chunk);

// The packer of words whose bits are where `plan` has them, or null: then only write_code knows.
PackChunk chunk_packer(const DecodePlan& plan);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_PACK_PAIRS_H_
