// A key-value cache with random data to time kernels with.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_BENCH_CACHE_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_BENCH_CACHE_H_

#include <cstdint>
#include <vector>

#include "heddle/kv_cache.h"
#include "heddle/operations.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/operations/decode_attention/problem.h"

namespace heddle {

// The data of a thousand tokens, repeated. Needs a current context for its whole life.
class BenchCache {
 public:
  // `sequences` have slots in the residual window, if K has one.
  BenchCache(const DecodeAttentionSpec& spec, std::int64_t pages, std::int64_t page_tokens,
             std::int64_t sequences, const OwnedStream& stream);
  // Without a block table.
  const KvCache& cache() const noexcept { return cache_; }

 private:
  void fill(const AttentionProblem& pattern, std::size_t which, const KvTensorLayout& layout,
            const OwnedStream& stream);
  void fill_residual(const DecodeAttentionSpec& plain, const KvTensorLayout& layout,
                     std::int64_t sequences, const OwnedStream& stream);

  KvCache cache_;
  DeviceBuffer codes_[2];
  DeviceBuffer scales_[2];
  DeviceBuffer given_;
  DeviceBuffer residual_;
};

// Codes and scales of some tokens, and nothing else: a problem's tensors have poison behind their
// tokens, which comes before others where they are repeated. Of a contiguous cache in order kNhd.
AttentionProblem bench_pattern(const DecodeAttentionSpec& spec);

// Bytes that a sequence of so many tokens has in the cache and in the residual window.
double cached_bytes(const KvCacheLayout& layout, std::int32_t length) noexcept;

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_BENCH_CACHE_H_
