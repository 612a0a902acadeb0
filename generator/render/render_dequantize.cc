#include "generator/render/kernel_text.h"
#include "heddle/error.h"

namespace heddle {

Source render_dequantize(const Plan& /*plan*/, const TileKernel& kernel) {
  throw Error(ErrorCategory::kInternal, "render.role", "no template for " + kernel.name);
}

}  // namespace heddle
