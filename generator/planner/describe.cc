#include <fmt/format.h>

#include "generator/families/family.h"
#include "generator/families/gemm_config.h"
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
      layout_version(plan.spec.weight()), l.row_blocks, WeightLayout::kRowBlock,
      l.chunks_per_row_block, WeightLayout::kChunkK, l.chunk_bytes, l.total_bytes);
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

// The launch for one M; those of other operations depend on more.
std::string launch_text(const Plan& plan, std::size_t index, std::int64_t m) {
  const KernelLaunch launch = plan.launch(index, {m});
  std::string text = fmt::format("grid {} x {} x {}", launch.grid_x, launch.grid_y, launch.grid_z);
  if (launch.cluster > 1) text += fmt::format(" in clusters of {}", launch.cluster);
  if (launch.schedule != 0) text += fmt::format(", schedule {}", launch.schedule);
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
    text += fmt::format("  M = {}: {}", m, launch_text(plan, index, m));
    if (plan.spec.op() == Op::kGemm && index < plan.kernels.size()) {
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

// Where Y has 8 bits.
std::string describe_scales(const RowOutputSpec& output) {
  if (!output.is_quantized()) return {};
  std::string text =
      fmt::format("; Y {}in {}", output.pre_scale ? "by factors of its columns, " : "",
                  to_string(output.dtype));
  switch (output.granularity) {
    case RowGranularity::kNone:
      break;
    case RowGranularity::kTensor:
      return text + " by a given scale";
    case RowGranularity::kToken:
      text += ", a scale";
      if (!output.symmetric) text += " and a zero point";
      return text + " for each row";
    case RowGranularity::kGroup:
      return text + fmt::format(", a scale in {} for each {} columns of a row, {}",
                                to_string(output.scale_dtype), kRowGroup,
                                to_string(output.scale_layout));
  }
  return text;
}

std::string describe_work(const RowTransformSpec& spec) {
  const std::string y = fmt::format("Y[M, {}] = ", spec.shape.columns);
  const std::string in = fmt::format(" in {}", to_string(spec.input));
  if (spec.norm.type != NormType::kNone) {
    const char* of = spec.residual ? "(X + residual), which replaces the residual," : "(X)";
    return fmt::format("{}{} norm{}{}", y, to_string(spec.norm.type), of, in);
  }
  const std::string_view activation =
      spec.gate.activation == Activation::kNone ? "" : to_string(spec.gate.activation);
  if (spec.gate.order == GateOrder::kNone && activation.empty()) return y + 'X' + in;
  if (spec.gate.order == GateOrder::kNone) return fmt::format("{}{}(X){}", y, activation, in);
  return fmt::format("{}{}(gates) * the others of X[M, {}], {},{}", y, activation, spec.x_columns(),
                     to_string(spec.gate.order), in);
}

std::string describe_gemm(const GemmSpec& spec) {
  const EpilogueSpec& epilogue = spec.epilogue;
  std::string sums =
      fmt::format("X[M, {}] * W[{}, {}]^T", spec.shape.k, spec.shape.n, spec.shape.k);
  if (epilogue.bias) sums += " + bias";
  const std::string function = epilogue.activation == Activation::kNone
                                   ? std::string()
                                   : std::string(to_string(epilogue.activation));
  if (epilogue.gated) {
    sums = fmt::format("{}(gates) * ups of {}", function, sums);
  } else if (!function.empty()) {
    sums = fmt::format("{}({})", function, sums);
  }
  return fmt::format(
      "Y[M, {}] = {}{}{}{}", spec.output_columns(), sums, epilogue.residual ? " + residual" : "",
      spec.output ? fmt::format(", in {}", to_string(*spec.output)) : "",
      !spec.has_byte_output()     ? ""
      : finds_output_scales(spec) ? fmt::format(", and {} scales of its groups of {}",
                                                to_string(spec.output_scale.scale_dtype), kRowGroup)
                                  : " by the launch's scale");
}

// Scales of rows of so many columns, column_major: lines of groups, or words of four of them.
std::string scale_lines(RowScaleDtype dtype, std::int64_t columns) {
  const std::int64_t groups = (columns + kRowGroup - 1) / kRowGroup;
  const bool has_words = dtype == RowScaleDtype::kE8m0;
  return fmt::format("{} [{}, M up to a multiple of 4]{}, of {} columns each", to_string(dtype),
                     has_words ? (groups + 3) / 4 : groups, has_words ? " of 4 bytes" : "",
                     kRowGroup);
}

// The arrays of a launch beside weights and workspace: types and shapes.
std::string describe_arrays(const GemmSpec& spec) {
  const ActivationScaleSpec& x = spec.activation_scale;
  std::string text =
      fmt::format("a launch has: x {} [M, {}]", to_string(spec.activation), spec.shape.k);
  if (x.granularity == RowGranularity::kTensor) text += ", x_scales fp32 [1]";
  if (x.granularity == RowGranularity::kToken) text += ", x_scales fp32 [M]";
  if (x.granularity == RowGranularity::kGroup) {
    text += ", x_scales " + scale_lines(x.scale_dtype, spec.shape.k);
  }
  if (!x.symmetric) text += ", x_zero_points int32 [M]";
  if (spec.pre_scale)
    text += fmt::format(", pre_scale {} [{}]", to_string(spec.activation), spec.shape.k);
  if (spec.act_order) text += fmt::format(", permutation int32 [{}]", spec.shape.k);
  if (spec.epilogue.bias)
    text += fmt::format(", bias {} [{}]", to_string(spec.bias_dtype()), spec.shape.n);
  const std::string y = fmt::format("[M, {}]", spec.output_columns());
  if (spec.epilogue.residual)
    text += fmt::format(", residual {} {}", to_string(spec.residual_dtype()), y);
  text += fmt::format(", y {} {}", to_string(spec.output_dtype()), y);
  if (spec.output_scale.granularity == RowGranularity::kTensor) text += ", y_scales fp32 [1]";
  if (finds_output_scales(spec)) {
    text += ", y_scales " + scale_lines(spec.output_scale.scale_dtype, spec.output_columns());
  }
  return text;
}

std::string describe_operation(const Plan& plan) {
  const auto [n, k] = plan.spec.has_weight() ? plan.spec.weight_shape() : MatrixShape{};
  switch (plan.spec.op()) {
    case Op::kGemm:
      return describe_gemm(plan.spec.gemm()) + '\n' + describe_arrays(plan.spec.gemm());
    case Op::kDequantize:
      return fmt::format("W[{}, {}] in {} from {}", n, k, to_string(plan.spec.weight_op().dtype),
                         to_string(plan.spec.weight_op().format));
    case Op::kRepack:
      return fmt::format("packed W[{}, {}] from {}", n, k, to_string(plan.spec.weight_op().format));
    case Op::kQuantizeWeight:
      return fmt::format("packed W[{}, {}] from {}", n, k, to_string(plan.spec.weight_op().dtype));
    case Op::kKvAppend: {
      const auto [heads, head_dim] = plan.spec.kv_append().shape;
      std::string text = fmt::format("K and V[tokens, {}, {}] in {} into the cache", heads,
                                     head_dim, to_string(plan.spec.kv_append().activation));
      if (const int query_heads = plan.spec.kv_append().query.heads; query_heads != 0) {
        text += fmt::format(", Q[tokens, {}, {}] for attention", query_heads, head_dim);
      }
      return text;
    }
    case Op::kDecodeAttention: {
      const auto [heads, kv_heads, head_dim, query_len] = plan.spec.decode_attention().shape;
      return fmt::format("attention of {} heads of {}, {} of K and V, and the last {} in {}", heads,
                         head_dim, kv_heads,
                         query_len == 1 ? "token" : fmt::format("{} tokens", query_len),
                         to_string(plan.spec.decode_attention().activation));
    }
    case Op::kRowTransform:
      return describe_work(plan.spec.row_transform()) +
             describe_scales(plan.spec.row_transform().output);
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
