// The C API of key-value caches: the C++ one, after a look at the sizes.
#include <fmt/format.h>

#include <limits>

#include "generator/planner/refuse_if_any.h"
#include "generator/spec/meaning.h"
#include "heddle/kernel.h"
#include "heddle/kv_cache.h"
#include "heddle/weights.h"
#include "runtime/c_api.h"
#include "runtime/decode_attention_launch.h"
#include "runtime/kv_append_launch.h"
#include "runtime/launch_checks.h"

namespace heddle::c_api {
namespace {

std::size_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

// Of a spec with a cache. Throws what makes it senseless.
KvCacheLayout layout_of(const Spec& spec) {
  if (spec.op() == Op::kKvAppend) {
    const KvAppendSpec& append = spec.kv_append();
    refuse_if_any(spec, check_meaning(append));
    return kv_cache_layout(append.kv, append.shape.kv_heads, append.shape.head_dim);
  }
  const DecodeAttentionSpec& attention = spec.decode_attention();
  refuse_if_any(spec, check_meaning(attention));
  return kv_cache_layout(attention.kv, attention.shape.kv_heads, attention.shape.head_dim);
}

// Tokens of a page of the cache's tensors, of a contiguous cache those of a sequence. Throws
// Error(kUsage, "launch.size") for a number that a launch would refuse, and for none where the
// spec does not tell it.
std::int64_t tokens_of_page(const Spec& spec, std::int64_t page_tokens) {
  validate_page_tokens(spec.kv(), page_tokens, spec.kv_shape().kv_heads);
  return spec.kv().layout == KvLayout::kPaged ? spec.kv().page_size : page_tokens;
}

void check_tensor(const heddle_kv_tensor& tensor, const KvTensor& spec,
                  const KvTensorLayout& layout, const KvCache& cache, const char* name) {
  need_bytes(tensor.codes, layout.code_bytes(cache.pages, cache.page_tokens),
             fmt::format("cache.{}.codes", name).c_str());
  need_bytes(tensor.scales, layout.scale_bytes(cache.pages, cache.page_tokens),
             fmt::format("cache.{}.scales", name).c_str());
  need_bytes(tensor.given, spec.symmetric ? 4 : 8, fmt::format("cache.{}.given", name).c_str());
  need_bytes(tensor.residual, layout.residual_bytes(cache.residual_slot_count),
             fmt::format("cache.{}.residual", name).c_str());
}

KvCacheTensor to_cpp(const heddle_kv_tensor& tensor) {
  return {tensor.codes.data, tensor.scales.data, static_cast<const float*>(tensor.given.data),
          tensor.residual.data};
}

const std::int32_t* numbers(const heddle_input& input) {
  return static_cast<const std::int32_t*>(input.data);
}

KvCache to_cpp(const heddle_kv_cache& cache) {
  KvCache launch;
  launch.k = to_cpp(cache.k);
  launch.v = to_cpp(cache.v);
  launch.pages = cache.pages;
  launch.page_tokens = cache.page_tokens;
  launch.block_table = numbers(cache.block_table);
  launch.table_stride = cache.table_stride;
  launch.residual_slot_count = cache.residual_slot_count;
  launch.residual_slots = numbers(cache.residual_slots);
  return launch;
}

// Precondition: validate() accepts the launch.
void check_sizes(const heddle_kv_cache& cache, std::int64_t sequences, const KvSpec& spec,
                 const KvShape& shape) {
  need_bytes(cache.block_table, product(4 * sequences, cache.table_stride), "cache.block_table");
  need_bytes(cache.residual_slots, product(4, sequences), "cache.residual_slots");
  KvCache launch = to_cpp(cache);
  if (launch.page_tokens == 0) launch.page_tokens = spec.page_size;
  const KvCacheLayout layout = kv_cache_layout(spec, shape.kv_heads, shape.head_dim);
  check_tensor(cache.k, spec.k, layout.k, launch, "k");
  check_tensor(cache.v, spec.v, layout.v, launch, "v");
}

KvAppendArgs to_cpp(const heddle_kv_append_args& args) {
  KvAppendArgs launch;
  launch.k = args.k.data;
  launch.v = args.v.data;
  launch.k_stride = args.k_stride;
  launch.v_stride = args.v_stride;
  launch.tokens = args.tokens;
  launch.sequences = args.sequences;
  launch.offsets = numbers(args.offsets);
  launch.lengths = numbers(args.lengths);
  launch.rotations = static_cast<const float*>(args.rotations.data);
  launch.rotation_rows = args.rotation_rows;
  launch.cache = to_cpp(args.cache);
  return launch;
}

// Precondition: validate() accepts the launch.
void check_sizes(const Plan& plan, const heddle_kv_append_args& args) {
  const KvAppendSpec& spec = plan.spec.kv_append();
  const std::int64_t row = std::int64_t{spec.shape.kv_heads} * spec.shape.head_dim;
  const auto input_bytes = [&](std::int64_t stride) {
    if (args.tokens == 0) return std::size_t{0};
    return product((args.tokens - 1) * (stride == 0 ? row : stride) + row,
                   bytes_of(spec.activation));
  };
  need_bytes(args.k, input_bytes(args.k_stride), "k");
  need_bytes(args.v, input_bytes(args.v_stride), "v");
  need_bytes(args.offsets, product(4, args.sequences + 1), "offsets");
  need_bytes(args.lengths, product(4, args.sequences), "lengths");
  need_bytes(args.rotations, product(4 * args.rotation_rows, spec.rope.dim), "rotations");
  check_sizes(args.cache, args.sequences, spec.kv, spec.shape);
}

DecodeAttentionArgs to_cpp(const heddle_decode_attention_args& args) {
  DecodeAttentionArgs launch;
  launch.q = args.q.data;
  launch.out = args.out.data;
  launch.sequences = args.sequences;
  launch.lengths = numbers(args.lengths);
  launch.cache = to_cpp(args.cache);
  launch.slopes = static_cast<const float*>(args.slopes.data);
  launch.sink_logits = static_cast<const float*>(args.sink_logits.data);
  launch.log_sum_exp = static_cast<float*>(args.log_sum_exp.data);
  launch.workspace = args.workspace.data;
  launch.workspace_bytes = args.workspace.bytes;
  return launch;
}

// Precondition: validate() accepts the launch, which looks at the workspace.
void check_sizes(const Plan& plan, const heddle_decode_attention_args& args) {
  const DecodeAttentionSpec& spec = plan.spec.decode_attention();
  const AttentionShape& shape = spec.shape;
  const std::int64_t queries = args.sequences * shape.query_len * shape.heads;
  const std::size_t bytes = product(queries, shape.head_dim) * bytes_of(spec.activation);
  need_bytes(args.q, bytes, "q");
  need_bytes(args.out, bytes, "out");
  need_bytes(args.lengths, product(4, args.sequences), "lengths");
  need_bytes(args.slopes, product(4, shape.heads), "slopes");
  need_bytes(args.sink_logits, product(4, shape.heads), "sink_logits");
  need_bytes(args.log_sum_exp, product(4, queries), "log_sum_exp");
  check_sizes(args.cache, args.sequences, spec.kv, {shape.kv_heads, shape.head_dim});
}

}  // namespace
}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::need;

heddle_status heddle_launch_kv_append(const heddle_kernel* kernel,
                                      const heddle_kv_append_args* args, void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    need(args, "args");
    heddle::c_api::need_size(args->struct_size, sizeof *args, "heddle_kv_append_args");
    const heddle::Plan& plan = kernel->kernel.plan();
    const heddle::KvAppendArgs launch = heddle::c_api::to_cpp(*args);
    heddle::validate(plan, launch);
    heddle::c_api::check_sizes(plan, *args);
    kernel->kernel.launch(launch, stream);
  });
}

heddle_status heddle_launch_decode_attention(const heddle_kernel* kernel,
                                             const heddle_decode_attention_args* args,
                                             void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    need(args, "args");
    heddle::c_api::need_size(args->struct_size, sizeof *args, "heddle_decode_attention_args");
    const heddle::Plan& plan = kernel->kernel.plan();
    const heddle::DecodeAttentionArgs launch = heddle::c_api::to_cpp(*args);
    heddle::validate(plan, launch);
    heddle::c_api::check_sizes(plan, *args);
    kernel->kernel.launch(launch, stream);
  });
}

heddle_status heddle_kv_cache_bytes(const char* spec, size_t spec_length, int64_t pages,
                                    int64_t page_tokens, heddle_kv_bytes* bytes) {
  return guarded([&] {
    need(bytes, "bytes");
    const auto parsed = heddle::Spec::parse(heddle::c_api::view(spec, spec_length));
    if (!parsed.has_cache()) {
      heddle::c_api::refuse("api.op",
                            fmt::format("the operation {} has no cache", to_string(parsed.op())));
    }
    const heddle::KvCacheLayout layout = heddle::c_api::layout_of(parsed);
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (pages < 0 || pages > kMost) {
      heddle::c_api::refuse("api.kv",
                            fmt::format("pages = {} is not between 0 and {}", pages, kMost));
    }
    const std::int64_t tokens = heddle::c_api::tokens_of_page(parsed, page_tokens);
    *bytes = {layout.k.code_bytes(pages, tokens), layout.k.scale_bytes(pages, tokens),
              layout.v.code_bytes(pages, tokens), layout.v.scale_bytes(pages, tokens),
              layout.k.residual_bytes(1)};
    for (const std::size_t size :
         {bytes->k_codes, bytes->k_scales, bytes->v_codes, bytes->v_scales}) {
      if (size <= PTRDIFF_MAX) continue;
      heddle::c_api::refuse("api.kv",
                            fmt::format("a tensor of {} pages of {} tokens has more bytes "
                                        "than a program can address",
                                        pages, tokens));
    }
  });
}
