#include <fmt/format.h>

#include "generator/render/config.h"
#include "generator/render/kernel_text.h"

namespace heddle {
namespace {

constexpr std::string_view kTemplate = "gather/gather.cuh";

}  // namespace

Source render_gather(const Plan& plan, const TileKernel& kernel) {
  const GemmSpec& spec = plan.spec.gemm();
  ConfigWriter config;
  config.number("kK", spec.shape.k);
  config.number("kTileRows", kernel.tile_rows);
  config.number("kTileColumns", kernel.tile_columns);
  config.flag("kPreScale", spec.pre_scale);
  config.type("Value", value_type(spec.activation));
  Source source;
  source.kernel_name = kernel.name;
  source.threads = kernel.threads;
  source.dynamic_shared_bytes = kernel.shared_bytes;
  source.text = kernel_text(
      plan,
      fmt::format("the columns of X in the order of the packed weights: tiles of {} tokens x {} "
                  "columns",
                  kernel.tile_rows, kernel.tile_columns),
      kTemplate, config.text(kTemplate),
      entry_text(
          kernel.name, kernel.threads, kernel.blocks_per_sm,
          "const heddle::u8* x, const heddle::u8* permutation, const heddle::u8* pre_scale,\n"
          "       heddle::u8* gathered, int m",
          "heddle::gather<heddle::Config>(x, permutation, pre_scale, gathered, m)"));
  return source;
}

}  // namespace heddle
