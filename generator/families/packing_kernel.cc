#include "generator/families/packing_kernel.h"

#include <fmt/format.h>

#include <utility>

#include "generator/decode/encode_moves.h"
#include "generator/layout/padding_code.h"
#include "generator/render/encode_text.h"

namespace heddle {

void add_packing_members(const Plan& plan, const TileKernel& kernel, ConfigWriter& config) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  const WeightLayout& layout = plan.layout;
  const std::int64_t padded_k = layout.chunks_per_row_block * WeightLayout::kChunkK;
  config.number("kBits", spec.weight.bits);
  config.number("kN", spec.shape.n);
  config.number("kK", spec.shape.k);
  config.flag("kWholeRows", spec.shape.n % kernel.tile_rows == 0);
  config.flag("kWholeColumns", spec.shape.k % WeightLayout::kChunkK == 0);
  config.number("kPaddingCode", padding_code(spec.weight));
  config.flag("kTrtllm", spec.weight.interleave == Interleave::kTrtllm);
  config.number("kChunks", layout.chunks_per_row_block);
  config.number("kRowBlocks", layout.row_blocks);
  config.number("kChunkBytes", layout.chunk_bytes);
  config.number("kScaleOffset", layout.scale_offset);
  config.number("kScaleWidth", layout.scale_bytes / WeightLayout::kRowBlock);
  config.number("kZeroOffset", layout.zero_offset);
  config.number("kZeroWidth", layout.zero_bytes / (WeightLayout::kRowBlock / 2));
  config.number("kEntries", layout.groups_per_chunk);
  config.number("kMetaGroup", layout.meta_group);
  config.number("kGroup", spec.weight.group_size > 0 ? spec.weight.group_size : padded_k);
  config.number("kChannelOffset", static_cast<std::int64_t>(layout.channel_offset));
  config.number("kChannelBytes", layout.channel_bytes);
  config.number("kChannelZeroOffset", layout.channel_zero_offset);
  config.number("kThreads", kernel.threads);
  config.number("kSharedBytes", kernel.shared_bytes);
}

KernelText packing_text(const Plan& plan, const TileKernel& kernel, std::string_view template_path,
                        const std::string& config, std::string function) {
  return {
      template_path,
      fmt::format("tiles of {} rows x {} columns, {:.3g} instructions per weight to pack codes\n",
                  kernel.tile_rows, kernel.tile_columns, encode_cost(plan.decode)),
      config + '\n' + encode_text(plan.decode),
      std::move(function),
      {}};
}

}  // namespace heddle
