#include "runtime/kv_append_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "generator/kv/kv_rule.h"
#include "heddle/weights.h"
#include "runtime/byte_pointers.h"
#include "runtime/kernel_state.h"

namespace heddle {
namespace {

constexpr std::size_t kNumberAlignment = 4;
constexpr std::int64_t kStrideStep = 8;  // elements: 16 bytes
constexpr std::int64_t kMostStride = std::numeric_limits<std::int32_t>::max();

void check_size(std::int64_t value, std::int64_t least, const char* name) {
  if (value >= least && value <= std::numeric_limits<std::int32_t>::max()) return;
  refuse_launch("launch.size", fmt::format("{} = {} is not between {} and {}", name, value, least,
                                           std::numeric_limits<std::int32_t>::max()));
}

void check_stride(std::int64_t stride, std::int64_t row, const char* name) {
  if (stride == 0) return;
  if (stride >= row && stride <= kMostStride && stride % kStrideStep == 0) return;
  refuse_launch("launch.size",
                fmt::format("{} = {} is neither 0 nor a multiple of {} from {} to {}", name, stride,
                            kStrideStep, row, kMostStride));
}

void check_tensor(const KvTensor& tensor, const KvCacheTensor& given, const char* codes,
                  const char* scales, const char* factor) {
  const bool by_caller = tensor.granularity == KvGranularity::kTensor;
  const bool none = tensor.granularity == KvGranularity::kNone;
  check_required(given.codes, codes);
  check_wanted(given.scales, !by_caller && !none, scales);
  check_wanted(given.given, takes_given(tensor), factor, kNumberAlignment);
}

// The window of tokens whose block of scales per channel is not full.
void check_residual(const KvSpec& kv, const KvCache& cache, std::int64_t sequences) {
  const bool wanted = kv.k.granularity == KvGranularity::kChannel;
  check_wanted(cache.k.residual, wanted, "cache.k.residual");
  check_wanted(cache.v.residual, false, "cache.v.residual");
  const bool slots = cache.residual_slots != nullptr;
  check_wanted(cache.residual_slots, wanted && slots, "cache.residual_slots", kNumberAlignment);
  if (!wanted) return;
  check_size(cache.residual_slot_count, slots ? 1 : sequences, "cache.residual_slot_count");
}

std::int64_t stride_bytes(std::int64_t stride, std::int64_t row, DType dtype) {
  return (stride == 0 ? row : stride) * bytes_of(dtype);
}

// Kernels count a sequence's rows in 32 bits, and attention no more tokens than this.
void check_sequence(std::int64_t tokens, int kv_heads) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
  constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
  check_size(tokens, 1, "cache.page_tokens");
  const std::int64_t most = std::min(kMostTokens, kMostRows / kv_heads);
  if (tokens <= most) return;
  refuse_launch("launch.size", fmt::format("cache.page_tokens = {}: of {} heads a sequence has at "
                                           "most {} tokens",
                                           tokens, kv_heads, most));
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

void validate(const KvSpec& kv, const KvCache& cache, std::int64_t sequences, int kv_heads) {
  check_tensor(kv.k, cache.k, "cache.k.codes", "cache.k.scales", "cache.k.given");
  check_tensor(kv.v, cache.v, "cache.v.codes", "cache.v.scales", "cache.v.given");
  check_residual(kv, cache, sequences);
  check_size(cache.pages, 1, "cache.pages");
  const bool paged = kv.layout == KvLayout::kPaged;
  check_wanted(cache.block_table, paged, "cache.block_table", kNumberAlignment);
  validate_page_tokens(kv, cache.page_tokens, kv_heads);
  if (paged) return check_size(cache.table_stride, 1, "cache.table_stride");
  // The tokens of a sequence that has no place would be lost.
  if (cache.pages >= sequences) return;
  refuse_launch("launch.size",
                fmt::format("the cache has {} sequences, the launch {}", cache.pages, sequences));
}

void validate(const Plan& plan, const KvAppendArgs& args) {
  check_op(plan, Op::kKvAppend);
  const KvAppendSpec& spec = plan.spec.kv_append();
  const std::int64_t row = std::int64_t{spec.shape.kv_heads} * spec.shape.head_dim;
  check_size(args.tokens, 0, "tokens");
  check_size(args.sequences, args.tokens == 0 ? 0 : 1, "sequences");
  check_required(args.k, "k");
  check_required(args.v, "v");
  check_stride(args.k_stride, row, "k_stride");
  check_stride(args.v_stride, row, "v_stride");
  check_wanted(args.offsets, args.offsets != nullptr, "offsets", kNumberAlignment);
  if (args.offsets == nullptr && args.tokens != args.sequences) {
    refuse_launch("launch.size",
                  fmt::format("without offsets each of {} sequences has one token, not {} in all",
                              args.sequences, args.tokens));
  }
  check_required(args.lengths, "lengths", kNumberAlignment);
  const bool table = spec.rope.source == RopeSource::kTable;
  check_wanted(args.rotations, table, "rotations", kNumberAlignment);
  if (table) check_size(args.rotation_rows, 1, "rotation_rows");
  validate(spec.kv, args.cache, args.sequences, spec.shape.kv_heads);
}

KvAppendParameters kv_append_parameters(const Plan& plan, const KvAppendArgs& args,
                                        const KernelLaunch& launch) noexcept {
  const KvAppendSpec& spec = plan.spec.kv_append();
  const std::int64_t row = std::int64_t{spec.shape.kv_heads} * spec.shape.head_dim;
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto tensor = [](const KvCacheTensor& t) {
    return device::KvTensorPointers{bytes(t.codes), bytes(t.scales), t.given};
  };
  return {bytes(args.k),
          bytes(args.v),
          stride_bytes(args.k_stride, row, spec.activation),
          stride_bytes(args.v_stride, row, spec.activation),
          args.offsets,
          args.lengths,
          args.rotations,
          tensor(args.cache.k),
          tensor(args.cache.v),
          args.cache.block_table,
          number(args.cache.table_stride),
          number(args.cache.pages),
          number(args.cache.page_tokens),
          number(args.tokens),
          number(args.sequences),
          number(args.rotation_rows),
          bytes(args.cache.k.residual),
          args.cache.residual_slots,
          number(args.cache.residual_slot_count),
          launch.schedule};
}

LaunchSize kv_append_size(const KvAppendArgs& args) noexcept {
  return {args.tokens, args.sequences, args.offsets != nullptr};
}

void Kernel::launch(const KvAppendArgs& args, Stream stream) const {
  validate(plan(), args);
  if (args.tokens == 0) return;
  const KernelLaunch launch = plan().launch(0, kv_append_size(args));
  const KvAppendParameters parameters = kv_append_parameters(plan(), args, launch);
  ArgumentList arguments;
  arguments.set(KernelArgument::kParameters, &parameters);
  state_->launch_as(launch, 0, arguments, stream);
}

}  // namespace heddle
