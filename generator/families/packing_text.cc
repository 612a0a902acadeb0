#include "generator/families/packing_text.h"

#include <fmt/format.h>

#include "generator/decode/encode_moves.h"
#include "generator/decode/encode_text.h"

namespace heddle::families {

KernelText packing_text(const Plan& plan, const device::MatrixTiles& tiles,
                        const std::string& config) {
  KernelText text;
  text.decisions = fmt::format("{}, {:.3g} instructions per weight to pack codes\n",
                               describe(tiles), encode_cost(plan.decode));
  text.definitions = config + '\n' + encode_text(plan.decode);
  return text;
}

}  // namespace heddle::families
