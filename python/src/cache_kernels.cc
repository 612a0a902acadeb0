// Kernels on a key-value cache: kv_append and decode_attention.
#include <cstdint>
#include <string>

#include "bindings.h"
#include "errors.h"
#include "heddle/operations.h"
#include "kernels.h"

namespace heddle::python {
namespace {

constexpr std::size_t kNumberAlignment = 4;

Element code_element(const KvTensor& tensor) {
  switch (tensor.dtype) {
    case KvDtype::kFp16:
      return Element::kFp16;
    case KvDtype::kBf16:
      return Element::kBf16;
    case KvDtype::kFp8E4m3:
      return Element::kE4m3;
    case KvDtype::kFp8E5m2:
      return Element::kE5m2;
    default:
      return Element::kByte;
  }
}

// `value` is a heddle.KvCacheTensor; `names` are those of its four parts.
KvCacheTensor tensor_of(nb::handle value, const KvTensor& spec, DType activation,
                        const char* const (&names)[4], Arguments* arguments) {
  KvCacheTensor tensor;
  tensor.codes = arguments->memory(value.attr("codes"), names[0], code_element(spec), true);
  const Element scale = spec.scale_dtype ? element_of(*spec.scale_dtype) : Element::kAny;
  tensor.scales = arguments->memory(value.attr("scales"), names[1], scale, true);
  tensor.given =
      arguments->memory(value.attr("given"), names[2], Element::kFp32, false, kNumberAlignment);
  tensor.residual =
      arguments->memory(value.attr("residual"), names[3], element_of(activation), true);
  return tensor;
}

// `value` is a heddle.KvCache. What is missing or too small is refused by the launch.
KvCache cache_of(nb::handle value, const KvSpec& kv, DType activation, std::int64_t sequences,
                 Arguments* arguments) {
  static constexpr const char* kNamesOfK[] = {"cache.k.codes", "cache.k.scales", "cache.k.given",
                                              "cache.k.residual"};
  static constexpr const char* kNamesOfV[] = {"cache.v.codes", "cache.v.scales", "cache.v.given",
                                              "cache.v.residual"};
  if (!nb::hasattr(value, "k") || !nb::hasattr(value, "block_table")) {
    refuse("launch.argument", "cache is a " + nb::cast<std::string>(value.type().attr("__name__")),
           {}, "a heddle.KvCache");
  }
  KvCache cache;
  cache.k = tensor_of(value.attr("k"), kv.k, activation, kNamesOfK, arguments);
  cache.v = tensor_of(value.attr("v"), kv.v, activation, kNamesOfV, arguments);
  cache.pages = nb::cast<std::int64_t>(value.attr("pages"));
  cache.page_tokens = nb::cast<std::int64_t>(value.attr("page_tokens"));
  cache.residual_slot_count = nb::cast<std::int64_t>(value.attr("residual_slot_count"));
  const nb::object table = value.attr("block_table");
  const nb::object slots = value.attr("residual_slots");
  if (!table.is_none()) {
    const auto stride = nb::cast<Number>(value.attr("table_stride"));
    cache.table_stride =
        arguments->last_size_of(table, "cache.block_table", stride, "cache.table_stride");
    cache.block_table = arguments->dense(table, {"cache.block_table",
                                                 Element::kInt32,
                                                 {sequences, cache.table_stride},
                                                 kv.layout == KvLayout::kPaged,
                                                 false,
                                                 kNumberAlignment});
  }
  if (!slots.is_none()) {
    cache.residual_slots = arguments->dense(
        slots,
        {"cache.residual_slots", Element::kInt32, {sequences}, true, false, kNumberAlignment});
  }
  return cache;
}

Launch check_append(const KvAppendKernel& kernel, nb::handle k, nb::handle v, nb::handle lengths,
                    nb::handle cache, nb::handle offsets, nb::handle rotations, nb::handle q,
                    nb::handle q_out, nb::handle k_norm, nb::handle q_norm, Number tokens,
                    Number sequences, Number rotation_rows, Number k_stride, Number v_stride,
                    Number q_stride) {
  const KvAppendSpec& spec = kernel.plan().spec.kv_append();
  const std::int64_t heads = spec.shape.kv_heads;
  const std::int64_t dim = spec.shape.head_dim;
  const Element in = element_of(spec.activation);
  const bool has_query = spec.query.heads != 0;
  const bool has_norm = spec.norm.epsilon.has_value();
  const bool has_table =
      spec.rope.pairing != RopePairing::kNone && spec.rope.source == RopeSource::kTable;
  Arguments arguments(kernel.kernel());
  KvAppendArgs args;
  args.tokens = arguments.size_of(k, "k", tokens, "tokens");
  args.k = arguments.rows(k, {"k", in, {args.tokens, heads, dim}}, k_stride, &args.k_stride);
  args.v = arguments.rows(v, {"v", in, {args.tokens, heads, dim}}, v_stride, &args.v_stride);
  args.sequences = arguments.size_of(lengths, "lengths", sequences, "sequences");
  args.lengths = arguments.dense(
      lengths, {"lengths", Element::kInt32, {args.sequences}, true, false, kNumberAlignment});
  if (!offsets.is_none()) {
    args.offsets = arguments.dense(
        offsets, {"offsets", Element::kInt32, {args.sequences + 1}, true, false, kNumberAlignment});
  }
  if (!rotations.is_none()) {
    args.rotation_rows = arguments.size_of(rotations, "rotations", rotation_rows, "rotation_rows");
  }
  const std::int64_t rope = spec.rope.dim == 0 ? dim : spec.rope.dim;
  args.rotations = arguments.dense(
      rotations, {"rotations", Element::kFp32, {args.rotation_rows, rope}, has_table});
  args.cache = cache_of(cache, spec.kv, spec.activation, args.sequences, &arguments);
  args.q = arguments.rows(q, {"q", in, {args.tokens, spec.query.heads, dim}, has_query}, q_stride,
                          &args.q_stride);
  args.q_out =
      arguments.dense(q_out, {"q_out", in, {args.tokens, spec.query.heads, dim}, has_query, true});
  args.k_norm = arguments.dense(k_norm, {"k_norm", in, {dim}, has_norm});
  args.q_norm = arguments.dense(q_norm, {"q_norm", in, {dim}, has_norm && has_query});
  return make_launch(kernel, args, &arguments);
}

Launch check_attention(const DecodeAttentionKernel& kernel, nb::handle q, nb::handle out,
                       nb::handle lengths, nb::handle cache, nb::handle slopes,
                       nb::handle sink_logits, nb::handle log_sum_exp, nb::handle workspace,
                       Number sequences) {
  const DecodeAttentionSpec& spec = kernel.plan().spec.decode_attention();
  const std::int64_t heads = spec.shape.heads;
  const std::int64_t queries = spec.shape.query_len;
  const Element in = element_of(spec.activation);
  Arguments arguments(kernel.kernel());
  DecodeAttentionArgs args;
  args.sequences = arguments.size_of(q, "q", sequences, "sequences");
  const std::vector<std::int64_t> shape = {args.sequences, queries, heads, spec.shape.head_dim};
  args.q = arguments.dense(q, {"q", in, shape});
  args.out = arguments.dense(out, {"out", in, shape, true, true});
  args.lengths = arguments.dense(
      lengths, {"lengths", Element::kInt32, {args.sequences}, true, false, kNumberAlignment});
  args.cache = cache_of(cache, spec.kv, spec.activation, args.sequences, &arguments);
  args.slopes = arguments.dense(
      slopes,
      {"slopes", Element::kFp32, {heads}, spec.alibi == Alibi::kGiven, false, kNumberAlignment});
  args.sink_logits = arguments.dense(
      sink_logits,
      {"sink_logits", Element::kFp32, {heads}, spec.sink_logits, false, kNumberAlignment});
  args.log_sum_exp = arguments.dense(log_sum_exp, {"log_sum_exp",
                                                   Element::kFp32,
                                                   {args.sequences, queries, heads},
                                                   spec.log_sum_exp,
                                                   true,
                                                   kNumberAlignment});
  args.workspace = arguments.memory(workspace, "workspace", Element::kAny, true);
  return make_launch(kernel, args, &arguments);
}

void bind_append(nb::module_& m) {
  auto type = bind_handle<KvAppendKernel>(
      m, "KvAppendKernel", "K and V of new tokens into a cache, and Q of them prepared.");
  const nb::none none;
  add_launches(
      type, &check_append,
      "k: object, v: object, lengths: object, cache: heddle.KvCache, offsets: object = None, "
      "rotations: "
      "object = None, q: object = None, q_out: object = None, k_norm: object = None, q_norm: "
      "object = None, tokens: int | None = None, sequences: int | None = None, rotation_rows: int "
      "| None = None, k_stride: int | None = None, v_stride: int | None = None, q_stride: int | "
      "None = None",
      "Checks the arguments of a launch.\n\n"
      "k, v: [tokens, kv_heads, head_dim] of activation.dtype; tokens may be parts of wider rows. "
      "lengths: [sequences] int32, tokens in the cache once the new ones are there. offsets: "
      "[sequences + 1] int32, where each sequence's tokens begin; None: one token each. rotations: "
      "[positions, rope.dim] float32, exactly with rope.source table. q: as k with query.heads "
      "heads; q_out: the same, dense. k_norm, q_norm: [head_dim]. The numbers are only of "
      "DeviceMemory.",
      nb::arg("k").none(), nb::arg("v").none(), nb::arg("lengths").none(), nb::arg("cache").none(),
      nb::arg("offsets") = none, nb::arg("rotations") = none, nb::arg("q") = none,
      nb::arg("q_out") = none, nb::arg("k_norm") = none, nb::arg("q_norm") = none,
      nb::arg("tokens") = none, nb::arg("sequences") = none, nb::arg("rotation_rows") = none,
      nb::arg("k_stride") = none, nb::arg("v_stride") = none, nb::arg("q_stride") = none);
}

void bind_attention(nb::module_& m) {
  auto type = bind_handle<DecodeAttentionKernel>(
      m, "DecodeAttentionKernel", "Attention of the last tokens of each sequence over a cache.");
  const nb::none none;
  add_launches(
      type, &check_attention,
      "q: object, out: object, lengths: object, cache: heddle.KvCache, slopes: object = None, "
      "sink_logits: object = None, log_sum_exp: object = None, workspace: object = None, "
      "sequences: int | None = None",
      "Checks the arguments of a launch.\n\n"
      "q, out: [sequences, query_len, heads, head_dim] of activation.dtype. lengths: [sequences] "
      "int32, tokens in the cache, those of q among them. slopes, sink_logits: [heads] float32. "
      "log_sum_exp: [sequences, query_len, heads] float32. workspace: zeroed memory of "
      "max_workspace_bytes. sequences: only where q is a DeviceMemory.",
      nb::arg("q").none(), nb::arg("out").none(), nb::arg("lengths").none(),
      nb::arg("cache").none(), nb::arg("slopes") = none, nb::arg("sink_logits") = none,
      nb::arg("log_sum_exp") = none, nb::arg("workspace") = none, nb::arg("sequences") = none);
}

}  // namespace

void bind_cache_kernels(nb::module_& m) {
  bind_append(m);
  bind_attention(m);
}

}  // namespace heddle::python
