#include <fmt/format.h>

#include "generator/families/family.h"
#include "generator/operations/operation.h"
#include "heddle/inspect/plan.h"
#include "heddle/kv_cache.h"

namespace heddle {
namespace {

std::string describe_layout(const Plan& plan) {
  const WeightLayout& l = plan.layout;
  std::string text = fmt::format(
      "weights: layout version {}, {} row blocks of {} rows, {} chunks of {} columns each, {} "
      "bytes "
      "per chunk, {} bytes in all\n",
      kLayoutVersion, l.row_blocks, WeightLayout::kRowBlock, l.chunks_per_row_block,
      WeightLayout::kChunkK, l.chunk_bytes, l.total_bytes);
  if (!plan.spec.weight().has_scales()) {
    text += "  a chunk has weights alone\n";
  } else if (l.block_bytes != 0) {
    text += fmt::format("  scales of blocks at byte {}, {} bytes for {} packed rows and a chunk\n",
                        l.channel_offset, l.block_bytes, WeightLayout::kTileRows);
  } else if (l.channel_bytes != 0 && l.groups_per_chunk == 0) {
    text += fmt::format("  of channels, at byte {}, {} bytes per row block: {} of scales",
                        l.channel_offset, l.channel_bytes, l.scale_bytes);
    if (l.zero_bytes != 0) text += fmt::format(", {} of zero points", l.zero_bytes);
    if (l.channel_sum_offset != 0) {
      text += fmt::format(", {} of sums of codes", l.channel_bytes - l.channel_sum_offset);
    }
    text += '\n';
  } else {
    text += fmt::format("  in a chunk: {} bytes of weights, {} x {} bytes of scales",
                        l.scale_offset, l.groups_per_chunk, l.scale_bytes);
    if (l.zero_bytes != 0) {
      text += fmt::format(", {} x {} bytes of zero points", l.groups_per_chunk, l.zero_bytes);
    }
    if (l.entry_offset != 0) {
      text += fmt::format("; W begins inside of a group: entry (column + {}) / {}", l.entry_offset,
                          l.meta_group);
    }
    text += '\n';
    if (l.channel_bytes != 0) {
      text += fmt::format("  scales of channels at byte {}, {} bytes per row block\n",
                          l.channel_offset, l.channel_bytes);
    }
  }
  return text;
}

std::string arguments_text(const PlannedKernel& kernel) {
  std::string text;
  for (const KernelArgument argument : kernel.arguments) {
    text += text.empty() ? "" : ", ";
    text += to_string(argument);
  }
  return text;
}

std::string launch_text(const KernelLaunch& launch) {
  std::string text = fmt::format("grid {} x {} x {}", launch.grid_x, launch.grid_y, launch.grid_z);
  if (launch.cluster > 1) text += fmt::format(" in clusters of {}", launch.cluster);
  if (launch.schedule != 0) text += fmt::format(", schedule {}", launch.schedule);
  return text;
}

// The launch for one M, in all of its phases; those of other operations depend on more.
std::string launches_text(const Plan& plan, std::size_t index, std::int64_t m) {
  LaunchSize size{m};
  std::string text = launch_text(plan.launch(index, size));
  for (size.phase = 1; size.phase < plan.kernel(index).phases; ++size.phase) {
    text += "; " + launch_text(plan.launch(index, size));
  }
  return text;
}

std::string describe_kernel(const Plan& plan, std::size_t index) {
  const PlannedKernel& kernel = plan.kernel(index);
  const bool by_m = plan.spec.has_m();
  std::string text = kernel.name + "\n  ";
  if (by_m) text += fmt::format("M {} to {}, ", kernel.size_min, kernel.size_max);
  text += fmt::format("{}: {}\n", kernel.family->name(), kernel.family->describe(kernel));
  text +=
      fmt::format("  {} threads, {} bytes of shared memory, {} block{} per SM{}\n", kernel.threads,
                  kernel.shared_bytes, kernel.blocks_per_sm, kernel.blocks_per_sm == 1 ? "" : "s",
                  kernel.starts_early ? ", starts before the kernel before it has ended" : "");
  text += fmt::format("  arguments: {}\n", arguments_text(kernel));
  if (!by_m) return text;
  for (const std::int64_t m : {kernel.size_min, kernel.size_max}) {
    text += fmt::format("  M = {}: {}", m, launches_text(plan, index, m));
    if (index < plan.kernels.size()) {
      text += fmt::format(", workspace {} bytes", plan.workspace_bytes(m));
    }
    text += '\n';
    if (kernel.size_min == kernel.size_max) break;
  }
  return text;
}

std::string describe_tensor(const char* name, const KvTensor& tensor,
                            const KvTensorLayout& layout) {
  std::string text =
      fmt::format("{}: {}, scales per {}, a row of a head has {} bytes of codes", name,
                  to_string(tensor.dtype), to_string(tensor.granularity), layout.row_bytes);
  if (layout.scale_row_bytes != 0) {
    const std::string tokens =
        layout.scale_tokens == 1 ? "" : fmt::format(", for {} tokens,", layout.scale_tokens);
    text += fmt::format(" and{} {} of scales ({}{})", tokens, layout.scale_row_bytes,
                        to_string(*tensor.scale_dtype), tensor.symmetric ? "" : ", zero points");
  }
  if (layout.residual_row_bytes != 0) {
    text +=
        fmt::format("; a residual window of {} bytes for each sequence", layout.residual_bytes(1));
  }
  return text + '\n';
}

std::string describe_cache(const Spec& spec) {
  const KvShape shape = spec.kv_shape();
  const KvCacheLayout layout = kv_cache_layout(spec.kv(), shape.kv_heads, shape.head_dim);
  const KvTokenBytes bytes = kv_token_bytes(layout);
  return describe_tensor("K", spec.kv().k, layout.k) + describe_tensor("V", spec.kv().v, layout.v) +
         fmt::format("a token takes {} bytes of codes and {} of scales\n", bytes.codes,
                     bytes.scales);
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string text =
      fmt::format("spec: {}\ntarget: {} (sm_{}, {} SMs, {} bytes of shared memory per block)\n",
                  plan.spec.canonical_json(), plan.target.name, plan.target.arch(),
                  plan.target.sm_count, plan.target.shared_per_block);
  text += operation_of(plan.spec).describe(plan.spec.fields()) + '\n';
  if (plan.spec.has_weight()) {
    text += fmt::format("\n{}", describe_layout(plan));
    for (const DecodePlan& decode : decode_plans_of(plan)) {
      text += fmt::format("\ndecode plan: {}", describe(decode));
    }
  } else if (plan.spec.has_cache()) {
    text += '\n' + describe_cache(plan.spec);
  }
  text += "\nkernels:\n";
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) text += describe_kernel(plan, i);
  text += "\nwhy:\n";
  for (const std::string& reason : plan.reasons) text += fmt::format("- {}\n", reason);
  return text;
}

}  // namespace heddle
