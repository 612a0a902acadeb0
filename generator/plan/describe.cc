#include <fmt/format.h>

#include "generator/plan/stage.h"
#include "generator/plan/wgmma_stage.h"
#include "heddle/kv_cache.h"
#include "heddle/plan.h"

namespace heddle {
namespace {

std::string describe_layout(const Plan& plan) {
  const WeightLayout& l = plan.layout;
  std::string text = fmt::format(
      "weights: layout version {}, {} row blocks of {} rows, {} chunks of {} columns each, {} "
      "bytes "
      "per chunk, {} bytes in all\n",
      layout_version(plan.spec.weight()), l.row_blocks, WeightLayout::kRowBlock,
      l.chunks_per_row_block, WeightLayout::kChunkK, l.chunk_bytes, l.total_bytes);
  if (l.channel_bytes != 0) {
    text += fmt::format("  per-channel scales at byte {}, {} bytes per row block\n",
                        l.channel_offset, l.channel_bytes);
  } else {
    text += fmt::format("  in a chunk: {} bytes of weights, {} x {} bytes of scales",
                        l.scale_offset, l.groups_per_chunk, l.scale_bytes);
    if (l.zero_bytes != 0) {
      text += fmt::format(", {} x {} bytes of zero points", l.groups_per_chunk, l.zero_bytes);
    }
    text += '\n';
  }
  return text;
}

std::string describe_stream(const GemmVariant& v) {
  return fmt::format(
      "{}\n"
      "  M {} to {}: stream, stages {} of {} columns, {} warps along K, {} blocks, split K {}\n"
      "  scale on {}, {} bytes of shared memory\n",
      v.name, v.m_min, v.m_max, v.stages, v.stage_chunks * WeightLayout::kChunkK, v.warps_k,
      v.workers, v.split_k, to_string(v.scale_mode), v.shared_bytes);
}

std::string describe_bulk(const Plan& plan, const GemmVariant& v) {
  return fmt::format(
      "{}\n"
      "  M {} to {}: bulk, tile {} tokens x {} rows, stages {} of {} columns, warps N {} x K {}\n"
      "  split K {}, scale on {}, {} bytes of shared memory, workspace {} bytes\n",
      v.name, v.m_min, v.m_max, v.tile_m, v.tile_n, v.stages, v.stage_k, v.warps_n, v.warps_k,
      v.split_k, to_string(v.scale_mode), v.shared_bytes, plan.workspace_bytes(v.m_max));
}

std::string describe_wgmma(const Plan& plan, const GemmVariant& v) {
  return fmt::format(
      "{}\n"
      "  M {} to {}: wgmma{} of {} warpgroups, tile {} tokens x {} rows, stages {} of {} columns, "
      "{} "
      "blocks at most{}{}{}\n"
      "  scale on {}, {} bytes of shared memory, workspace {} bytes\n",
      v.name, v.m_min, v.m_max, v.by_warps ? "'s tiles by mma.sync" : "", wgmma_warpgroups(v),
      v.tile_m, v.tile_n, v.stages, v.stage_k, v.workers,
      v.cluster > 1 ? ", whose pairs read tokens once" : "",
      v.shares_rows ? ", whose pairs have 64 rows in common" : "",
      v.shares_tiles ? ", which share the K of the last tiles where that is faster" : "",
      to_string(v.scale_mode), v.shared_bytes, plan.workspace_bytes(v.m_max));
}

std::string describe_variant(const Plan& plan, const GemmVariant& v) {
  if (v.kernel == GemmKernel::kStream) return describe_stream(v);
  if (v.kernel == GemmKernel::kBulk) return describe_bulk(plan, v);
  if (v.kernel == GemmKernel::kWgmma) return describe_wgmma(plan, v);
  return fmt::format(
      "{}\n"
      "  M {} to {}: tile {} tokens x {} rows, stages {} of {} columns, {} warps (M {} x N {} x K "
      "{}){}\n"
      "  split K {}, scale on {}, {} bytes of shared memory, {} block{} per SM, workspace {} bytes "
      "at M = {}\n",
      v.name, v.m_min, v.m_max, v.tile_m, v.tile_n, v.stages, v.stage_k, v.threads() / 32,
      v.warps_m, v.warps_n, v.warps_k, v.reads_ahead ? " that read ahead" : "", v.split_k,
      to_string(v.scale_mode), v.shared_bytes, v.blocks_per_sm, v.blocks_per_sm == 1 ? "" : "s",
      plan.workspace_bytes(v.m_max), v.m_max);
}

std::string describe_tile_kernel(const TileKernel& kernel) {
  return fmt::format(
      "{}\n"
      "  {}: tiles of {} rows x {} columns, {} threads, {} bytes of shared memory, {} block{} per "
      "SM\n",
      kernel.name, to_string(kernel.role), kernel.tile_rows, kernel.tile_columns, kernel.threads,
      kernel.shared_bytes, kernel.blocks_per_sm, kernel.blocks_per_sm == 1 ? "" : "s");
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

std::string describe_operation(const Plan& plan) {
  const auto [n, k] = plan.spec.weight_shape();
  switch (plan.spec.op()) {
    case Op::kGemm:
      return fmt::format("Y[M, {}] = X[M, {}] * W[{}, {}]^T, path {}", n, k, n, k,
                         to_string(plan.variants.front().path));
    case Op::kDequantize:
      return fmt::format("W[{}, {}] in {} from {}", n, k, to_string(plan.spec.weight_op().dtype),
                         to_string(plan.spec.weight_op().format));
    case Op::kRepack:
      return fmt::format("packed W[{}, {}] from {}", n, k, to_string(plan.spec.weight_op().format));
    case Op::kQuantizeWeight:
      return fmt::format("packed W[{}, {}] from {}", n, k, to_string(plan.spec.weight_op().dtype));
    case Op::kKvAppend: {
      const auto [heads, head_dim] = plan.spec.kv_append().shape;
      return fmt::format("K and V[tokens, {}, {}] in {} into the cache", heads, head_dim,
                         to_string(plan.spec.kv_append().activation));
    }
    case Op::kDecodeAttention: {
      const auto [heads, kv_heads, head_dim, query_len] = plan.spec.decode_attention().shape;
      return fmt::format("attention of {} heads of {}, {} of K and V, and the last {} in {}", heads,
                         head_dim, kv_heads,
                         query_len == 1 ? "token" : fmt::format("{} tokens", query_len),
                         to_string(plan.spec.decode_attention().activation));
    }
  }
  return {};
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string text =
      fmt::format("spec: {}\ntarget: {} (sm_{}, {} SMs, {} bytes of shared memory per block)\n",
                  plan.spec.canonical_json(), plan.target.name, plan.target.arch(),
                  plan.target.sm_count, plan.target.shared_per_block);
  text += describe_operation(plan) + '\n';
  if (plan.spec.has_weight()) {
    text += fmt::format("\n{}", describe_layout(plan));
    for (const DecodePlan& decode : decode_plans_of(plan)) {
      text += fmt::format("\ndecode plan: {}", describe(decode));
    }
  } else {
    text += '\n' + describe_cache(plan.spec);
  }
  text += "\nkernels:\n";
  for (const GemmVariant& v : plan.variants) text += describe_variant(plan, v);
  for (const TileKernel& kernel : plan.tile_kernels) text += describe_tile_kernel(kernel);
  text += "\nwhy:\n";
  for (const std::string& reason : plan.reasons) text += fmt::format("- {}\n", reason);
  return text;
}

}  // namespace heddle
