// The C API of key-value caches.
#include "runtime/c_api/kv.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "generator/operations/operation.h"
#include "generator/spec/refuse_if_any.h"
#include "heddle/kernel.h"
#include "heddle/operations.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/parameters.h"
#include "runtime/c_api/structs.h"
#include "runtime/launch/decode_attention_launch.h"
#include "runtime/launch/kv_append_launch.h"

namespace heddle::c_api {
namespace {

KvCacheTensor to_cpp(const heddle_kv_tensor& tensor) {
  return {memory_of(tensor.codes), memory_of(tensor.scales), memory_of(tensor.given),
          memory_of(tensor.residual)};
}

KvCache to_cpp(const heddle_kv_cache& cache) {
  KvCache launch;
  launch.k = to_cpp(cache.k);
  launch.v = to_cpp(cache.v);
  launch.pages = cache.pages;
  launch.page_tokens = cache.page_tokens;
  launch.block_table = memory_of(cache.block_table);
  launch.table_stride = cache.table_stride;
  launch.residual_slot_count = cache.residual_slot_count;
  launch.residual_slots = memory_of(cache.residual_slots);
  return launch;
}

KvAppendArgs to_cpp(const heddle_kv_append_args& args) {
  KvAppendArgs launch;
  launch.k = memory_of(args.k);
  launch.v = memory_of(args.v);
  launch.k_stride = args.k_stride;
  launch.v_stride = args.v_stride;
  launch.tokens = args.tokens;
  launch.sequences = args.sequences;
  launch.offsets = memory_of(args.offsets);
  launch.lengths = memory_of(args.lengths);
  launch.rotations = memory_of(args.rotations);
  launch.rotation_rows = args.rotation_rows;
  launch.cache = to_cpp(args.cache);
  launch.q = memory_of(args.q);
  launch.q_stride = args.q_stride;
  launch.q_out = memory_of(args.q_out);
  launch.k_norm = memory_of(args.k_norm);
  launch.q_norm = memory_of(args.q_norm);
  return launch;
}

DecodeAttentionArgs to_cpp(const heddle_decode_attention_args& args) {
  DecodeAttentionArgs launch;
  launch.q = memory_of(args.q);
  launch.out = memory_of(args.out);
  launch.sequences = args.sequences;
  launch.lengths = memory_of(args.lengths);
  launch.cache = to_cpp(args.cache);
  launch.slopes = memory_of(args.slopes);
  launch.sink_logits = memory_of(args.sink_logits);
  launch.log_sum_exp = memory_of(args.log_sum_exp);
  launch.workspace = memory_of(args.workspace);
  return launch;
}

constexpr std::int64_t kMostPages = std::numeric_limits<std::int32_t>::max();

void need_pages(std::int64_t pages) {
  if (pages >= 0 && pages <= kMostPages) return;
  refuse("api.kv", fmt::format("pages = {} is not between 0 and {}", pages, kMostPages));
}

// Tokens of a page of the cache's tensors, of a contiguous cache those of a sequence.
std::int64_t tokens_of_page(const Spec& spec, std::int64_t page_tokens) {
  validate_page_tokens(spec.kv(), page_tokens, spec.kv_shape().kv_heads);
  return spec.kv().layout == KvLayout::kPaged ? spec.kv().page_size : page_tokens;
}

void need_addressable(std::size_t bytes, std::int64_t pages, std::int64_t page_tokens) {
  if (bytes <= PTRDIFF_MAX) return;
  refuse("api.kv", fmt::format("a tensor of {} pages of {} tokens has more bytes than a program "
                               "can address",
                               pages, page_tokens));
}

}  // namespace

void need_cache(const Spec& spec) {
  if (spec.has_cache()) return;
  refuse("api.op", fmt::format("the operation {} has no cache", to_string(spec.op())));
}

KvCacheLayout cache_layout_of(const Spec& spec) {
  refuse_if_any(spec, check_meaning(spec));
  const KvShape shape = spec.kv_shape();
  return kv_cache_layout(spec.kv(), shape.kv_heads, shape.head_dim);
}

}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::state_of;

heddle_status heddle_launch_kv_append(const heddle_kernel* kernel,
                                      const heddle_kv_append_args* args, void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    const heddle_kv_append_args given = heddle::c_api::read_struct(args, "heddle_kv_append_args");
    heddle::launch(state_of(kernel, heddle::KvAppendKernel::kOp), heddle::c_api::to_cpp(given),
                   stream);
  });
}

heddle_status heddle_launch_decode_attention(const heddle_kernel* kernel,
                                             const heddle_decode_attention_args* args,
                                             void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    const heddle_decode_attention_args given =
        heddle::c_api::read_struct(args, "heddle_decode_attention_args");
    heddle::launch(state_of(kernel, heddle::DecodeAttentionKernel::kOp),
                   heddle::c_api::to_cpp(given), stream);
  });
}

heddle_status heddle_kv_append_parameters(const heddle_plan* plan,
                                          const heddle_kv_append_args* args, void* parameters,
                                          size_t capacity, size_t* bytes) {
  return guarded([&] {
    need(plan, "plan");
    const heddle_kv_append_args given = heddle::c_api::read_struct(args, "heddle_kv_append_args");
    heddle::c_api::need_op(plan->plan.spec.op(), heddle::KvAppendKernel::kOp);
    const heddle::KvAppendArgs launch = heddle::c_api::to_cpp(given);
    heddle::validate(plan->plan, launch);
    heddle::c_api::need_work(launch.tokens > 0);
    const heddle::KernelLaunch geometry = plan->plan.launch(0, heddle::kv_append_size(launch));
    const auto made = heddle::kv_append_parameters(plan->plan, launch, geometry);
    constexpr std::size_t kAppendEnd =
        offsetof(heddle::KvAppendParameters, k_norm) + sizeof(const unsigned char*);
    heddle::c_api::give<kAppendEnd>(made, parameters, capacity, bytes);
  });
}

heddle_status heddle_decode_attention_parameters(const heddle_plan* plan,
                                                 const heddle_decode_attention_args* args,
                                                 void* parameters, size_t capacity, size_t* bytes) {
  return guarded([&] {
    need(plan, "plan");
    const heddle_decode_attention_args given =
        heddle::c_api::read_struct(args, "heddle_decode_attention_args");
    heddle::c_api::need_op(plan->plan.spec.op(), heddle::DecodeAttentionKernel::kOp);
    const heddle::DecodeAttentionArgs launch = heddle::c_api::to_cpp(given);
    heddle::validate(plan->plan, launch);
    heddle::c_api::need_work(launch.sequences > 0);
    const auto made = heddle::decode_attention_parameters(plan->plan, launch);
    constexpr std::size_t kAttentionEnd =
        offsetof(heddle::AttentionParameters, residual_slot_count) + sizeof(int);
    heddle::c_api::give<kAttentionEnd>(made, parameters, capacity, bytes);
  });
}

heddle_status heddle_kv_cache_bytes(const char* spec, size_t spec_length, int64_t pages,
                                    int64_t page_tokens, heddle_kv_bytes* bytes) {
  return guarded([&] {
    need(bytes, "bytes");
    const auto parsed = heddle::Spec::parse(heddle::c_api::view(spec, spec_length));
    heddle::c_api::need_cache(parsed);
    const heddle::KvCacheLayout layout = heddle::c_api::cache_layout_of(parsed);
    heddle::c_api::need_pages(pages);
    const std::int64_t tokens = heddle::c_api::tokens_of_page(parsed, page_tokens);
    *bytes = {layout.k.code_bytes(pages, tokens), layout.k.scale_bytes(pages, tokens),
              layout.v.code_bytes(pages, tokens), layout.v.scale_bytes(pages, tokens),
              layout.k.residual_bytes(1)};
    for (const std::size_t size :
         {bytes->k_codes, bytes->k_scales, bytes->v_codes, bytes->v_scales}) {
      heddle::c_api::need_addressable(size, pages, tokens);
    }
  });
}
