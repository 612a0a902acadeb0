#include "generator/families/tiles/arithmetic.h"

#include <fmt/format.h>

#include "generator/families/scale_mode.h"
#include "generator/families/tiles/refuse.h"

namespace heddle {
namespace {

using device::Feeder;

// Columns whose sums are scaled at once. Scales on weights do not depend on how often a warp looks
// at them.
std::string unit_text(const device::TilesConfig& c) {
  if (c.scaling.mode != ScaleMode::kAccumulator) return "";
  return fmt::format(" of {} columns", c.feeder == Feeder::kBulk ? c.bulk_unit() : c.unit());
}

}  // namespace

std::string tiles_arithmetic(const device::TilesConfig& c) {
  return fmt::format("tiles of mma.{}, {}{}, {}",
                     c.feeder == Feeder::kRegisters ? "m16n8k8" : "m16n8k16",
                     scale_text(c.scaling.mode), unit_text(c), order_of_k(tiles_mma_tile(c)));
}

}  // namespace heddle
