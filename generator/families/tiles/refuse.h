// Why a tile of mma.sync cannot be built.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_REFUSE_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_REFUSE_H_

#include <cstdint>
#include <vector>

#include "generator/families/fields.h"
#include "generator/families/mma_tile.h"
#include "generator/families/refuse.h"
#include "tiles/config.h"

namespace heddle {

// Tokens of a tile that bulk copies feed.
inline constexpr std::int64_t kMostBulkTokens = 64;

// Whether bulk copies feed the tiles for this spec: on sm_90, where it leaves the tile open; and
// where it asks for the path hopper with warps along N.
bool has_bulk_tiles(const GemmSpec& spec, const Target& target);

// As GemmFamily::exclusions_for().
std::vector<Problem> tiles_exclusions(const GemmSpec& spec, const Target& target, const MRange& m);

// What the tile has in common with all tiles of mma.sync.
MmaTile tiles_mma_tile(const device::TilesConfig& config);

// Every reason why this tile cannot be built for so many tokens; empty if it can.
std::vector<Problem> refuse_tile(const device::TilesConfig& config, const GemmSpec& spec,
                                 const Target& target, std::int64_t m_max);

// Every reason why a tile that bulk copies feed cannot be built for so many tokens.
std::vector<Problem> refuse_bulk(const device::TilesConfig& config, const GemmSpec& spec,
                                 const Target& target, std::int64_t m_max);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_REFUSE_H_
