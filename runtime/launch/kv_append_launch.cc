#include "runtime/launch/kv_append_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "generator/kv/kv_rule.h"
#include "generator/operations/launch_size.h"
#include "heddle/kv_cache.h"
#include "heddle/weights.h"
#include "runtime/launch/byte_pointers.h"
#include "runtime/launch/kernel_state.h"

namespace heddle {
namespace {

std::size_t integer_bytes(std::int64_t count) { return byte_count(count, sizeof(std::int32_t)); }

// What a tensor's memory is called where it is refused.
struct TensorNames {
  const char* codes;
  const char* scales;
  const char* given;
  const char* residual;
};
constexpr TensorNames kNamesOfK = {"cache.k.codes", "cache.k.scales", "cache.k.given",
                                   "cache.k.residual"};
constexpr TensorNames kNamesOfV = {"cache.v.codes", "cache.v.scales", "cache.v.given",
                                   "cache.v.residual"};

// A tensor's memory, and the numbers that say how large it must be.
struct SizedTensor {
  const KvCacheTensor& memory;
  std::int64_t pages;
  std::int64_t page_tokens;
  std::int64_t residual_slots;
};

// Precondition: the numbers are in their ranges.
void check_tensor(const KvTensor& spec, const KvTensorLayout& layout, const SizedTensor& tensor,
                  const TensorNames& names) {
  const KvCacheTensor& memory = tensor.memory;
  const bool scales = layout.scale_row_bytes > 0;
  const bool residual = layout.residual_row_bytes > 0;
  const std::size_t numbers = spec.symmetric ? 1 : 2;
  check_required(memory.codes, layout.code_bytes(tensor.pages, tensor.page_tokens), names.codes);
  check_wanted(memory.scales, scales, layout.scale_bytes(tensor.pages, tensor.page_tokens),
               names.scales);
  check_wanted(memory.given, takes_given(spec), numbers * sizeof(float), names.given,
               kNumberAlignment);
  check_wanted(memory.residual, residual,
               residual ? layout.residual_bytes(tensor.residual_slots) : 0, names.residual);
}

// The numbers of the window of tokens whose block of scales per channel is not full.
void check_residual(const KvSpec& kv, const KvCache& cache, std::int64_t sequences) {
  const bool wanted = kv.k.granularity == KvGranularity::kChannel;
  const bool slots = cache.residual_slots.data != nullptr;
  check_wanted(cache.residual_slots, wanted && slots, integer_bytes(sequences),
               "cache.residual_slots", kNumberAlignment);
  if (!wanted || cache.k.residual.data == nullptr) return;
  check_count(cache.residual_slot_count, slots ? 1 : sequences, "cache.residual_slot_count");
}

// Kernels count a sequence's rows in 32 bits, and attention no more tokens than this.
void check_sequence(std::int64_t tokens, int kv_heads) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
  constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
  check_count(tokens, 1, "cache.page_tokens");
  const std::int64_t most = std::min(kMostTokens, kMostRows / kv_heads);
  if (tokens <= most) return;
  refuse_launch("launch.size", fmt::format("cache.page_tokens = {}: of {} heads a sequence has at "
                                           "most {} tokens",
                                           tokens, kv_heads, most));
}

// Elements of a token of K, and of V; of one of Q.
std::int64_t row_of(const KvAppendSpec& spec) {
  return std::int64_t{spec.shape.kv_heads} * spec.shape.head_dim;
}
std::int64_t query_row_of(const KvAppendSpec& spec) {
  return std::int64_t{spec.query.heads} * spec.shape.head_dim;
}

// Refuses a q_out that overlaps what is read.
void check_query_overlaps(const KvAppendSpec& spec, const KvAppendArgs& args) {
  const std::int64_t row = row_of(spec);
  const std::int64_t query_row = query_row_of(spec);
  const DType dtype = spec.activation;
  const MemoryRows out = memory_rows(args.q_out, args.tokens, 0, query_row, dtype);
  refuse_overlap("q_out", out, "k", memory_rows(args.k, args.tokens, args.k_stride, row, dtype));
  refuse_overlap("q_out", out, "v", memory_rows(args.v, args.tokens, args.v_stride, row, dtype));
  const std::int64_t weights = spec.shape.head_dim;
  refuse_overlap("q_out", out, "k_norm", memory_rows(args.k_norm, 1, 0, weights, dtype));
  refuse_overlap("q_out", out, "q_norm", memory_rows(args.q_norm, 1, 0, weights, dtype));
  const bool is_dense = stride_or_dense(args.q_stride, query_row) == query_row;
  if (args.q.data != args.q_out.data) {
    refuse_overlap("q_out", out, "q",
                   memory_rows(args.q, args.tokens, args.q_stride, query_row, dtype));
  } else if (args.tokens > 1 && !is_dense) {
    refuse_launch("launch.overlap",
                  "q_out is q with a stride: a token would overwrite another one");
  }
}

// Q, and the weights of the norm of K and Q.
void check_query(const KvAppendSpec& spec, const KvAppendArgs& args) {
  const bool query = spec.query.heads != 0;
  const bool norm = spec.norm.epsilon.has_value();
  const std::int64_t row = query_row_of(spec);
  if (query) {
    check_stride(args.q_stride, row, "q_stride");
  } else if (args.q_stride != 0) {
    refuse_launch("launch.unexpected", "q_stride is given, but the kernel's spec has no query");
  }
  check_wanted(args.q, query,
               query ? strided_bytes(args.tokens, args.q_stride, row, spec.activation) : 0, "q");
  check_wanted(args.q_out, query, strided_bytes(args.tokens, 0, row, spec.activation), "q_out");
  const std::size_t weight_bytes = byte_count(spec.shape.head_dim, bytes_of(spec.activation));
  check_wanted(args.k_norm, norm, weight_bytes, "k_norm");
  check_wanted(args.q_norm, norm && query, weight_bytes, "q_norm");
  if (query) check_query_overlaps(spec, args);
}

}  // namespace

void validate_page_tokens(const KvSpec& kv, std::int64_t page_tokens, int kv_heads) {
  if (kv.layout == KvLayout::kPaged) {
    if (page_tokens == 0 || page_tokens == kv.page_size) return;
    refuse_launch("launch.size", fmt::format("cache.page_tokens = {}, the spec's pages have {}",
                                             page_tokens, kv.page_size));
  }
  check_sequence(page_tokens, kv_heads);
  const bool by_channel = kv.k.granularity == KvGranularity::kChannel;
  if (!by_channel || page_tokens % kv.k.group_size == 0) return;
  refuse_launch("launch.size", fmt::format("cache.page_tokens = {} holds no whole blocks of {}",
                                           page_tokens, kv.k.group_size));
}

void validate(const KvSpec& kv, const KvShape& shape, const KvCache& cache,
              std::int64_t sequences) {
  const bool paged = kv.layout == KvLayout::kPaged;
  if (paged) check_count(cache.table_stride, 1, "cache.table_stride");
  check_wanted(cache.block_table, paged, paged ? integer_bytes(sequences * cache.table_stride) : 0,
               "cache.block_table", kNumberAlignment);
  check_count(cache.pages, 1, "cache.pages");
  validate_page_tokens(kv, cache.page_tokens, shape.kv_heads);
  // The tokens of a sequence that has no place would be lost.
  if (!paged && cache.pages < sequences) {
    refuse_launch("launch.size",
                  fmt::format("the cache has {} sequences, the launch {}", cache.pages, sequences));
  }
  check_residual(kv, cache, sequences);
  const std::int64_t page_tokens = paged ? kv.page_size : cache.page_tokens;
  const KvCacheLayout layout = kv_cache_layout(kv, shape.kv_heads, shape.head_dim);
  check_tensor(kv.k, layout.k, {cache.k, cache.pages, page_tokens, cache.residual_slot_count},
               kNamesOfK);
  check_tensor(kv.v, layout.v, {cache.v, cache.pages, page_tokens, cache.residual_slot_count},
               kNamesOfV);
}

void validate(const Plan& plan, const KvAppendArgs& args) {
  const KvAppendSpec& spec = plan.spec.kv_append();
  const std::int64_t row = row_of(spec);
  const bool offsets = args.offsets.data != nullptr;
  check_append_size(kv_append_size(args), 0);
  check_stride(args.k_stride, row, "k_stride");
  check_stride(args.v_stride, row, "v_stride");
  const bool table = spec.rope.source == RopeSource::kTable;
  if (table && args.rotations.data != nullptr) check_count(args.rotation_rows, 1, "rotation_rows");
  check_required(args.k, strided_bytes(args.tokens, args.k_stride, row, spec.activation), "k");
  check_required(args.v, strided_bytes(args.tokens, args.v_stride, row, spec.activation), "v");
  check_wanted(args.offsets, offsets, integer_bytes(args.sequences + 1), "offsets",
               kNumberAlignment);
  check_required(args.lengths, integer_bytes(args.sequences), "lengths", kNumberAlignment);
  check_wanted(args.rotations, table,
               table ? byte_count(args.rotation_rows * spec.rope.dim, sizeof(float)) : 0,
               "rotations", kNumberAlignment);
  check_query(spec, args);
  validate(spec.kv, spec.shape, args.cache, args.sequences);
}

KvAppendParameters kv_append_parameters(const Plan& plan, const KvAppendArgs& args,
                                        const KernelLaunch& launch) noexcept {
  const KvAppendSpec& spec = plan.spec.kv_append();
  const std::int64_t row = row_of(spec);
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto tensor = [](const KvCacheTensor& t) {
    return device::KvTensorPointers{bytes(t.codes), bytes(t.scales), floats(t.given)};
  };
  return {bytes(args.k),
          bytes(args.v),
          stride_bytes(args.k_stride, row, spec.activation),
          stride_bytes(args.v_stride, row, spec.activation),
          integers(args.offsets),
          integers(args.lengths),
          floats(args.rotations),
          tensor(args.cache.k),
          tensor(args.cache.v),
          integers(args.cache.block_table),
          number(args.cache.table_stride),
          number(args.cache.pages),
          number(args.cache.page_tokens),
          number(args.tokens),
          number(args.sequences),
          number(args.rotation_rows),
          bytes(args.cache.k.residual),
          integers(args.cache.residual_slots),
          number(args.cache.residual_slot_count),
          launch.schedule,
          bytes(args.q),
          stride_bytes(args.q_stride, query_row_of(spec), spec.activation),
          bytes(args.q_out),
          bytes(args.q_norm),
          bytes(args.k_norm)};
}

LaunchSize kv_append_size(const KvAppendArgs& args) noexcept {
  return {args.tokens, args.sequences, args.offsets.data != nullptr};
}

void launch(const Kernel::State& state, const KvAppendArgs& args, Stream stream) {
  const Plan& plan = state.plan;
  validate(plan, args);
  if (args.tokens == 0) return;
  const KernelLaunch launch = plan.launch(0, kv_append_size(args));
  const KvAppendParameters parameters = kv_append_parameters(plan, args, launch);
  ArgumentList arguments;
  arguments.set(KernelArgument::kParameters, &parameters);
  state.launch_as(launch, 0, arguments, stream);
}

}  // namespace heddle
