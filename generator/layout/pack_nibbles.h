// The inner loop of packing 4-bit codes: what fragment_element says, two rows of a tile at a time.
#ifndef HEDDLE_GENERATOR_LAYOUT_PACK_NIBBLES_H_
#define HEDDLE_GENERATOR_LAYOUT_PACK_NIBBLES_H_

#include <cstdint>
#include <vector>

namespace heddle {

// Whether pack_nibbles() writes the words of a plan with this order: even elements in the low half.
bool is_nibble_order(const std::vector<int>& field_of);

// Packs the weights of a chunk, 16 rows by 128 columns of codes whose rows lie `stride` bytes
// apart.
void pack_nibbles(const std::uint8_t* codes, std::int64_t stride, std::uint8_t* chunk);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_PACK_NIBBLES_H_
