#include "tools/gpu_harness/operations/decode_attention/problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "generator/decode/float16.h"
#include "heddle/kv_cache.h"
#include "tools/gpu_harness/device/guarded_buffer.h"
#include "tools/gpu_harness/operations/decode_attention/tensor.h"

namespace heddle {
namespace {

constexpr int kSpareAttentionPages = 2;

void make_attention_pages(const KvSpec& kv, std::uint32_t page_seed, AttentionProblem& problem) {
  const std::int64_t longest =
      std::max(1, *std::max_element(problem.lengths.begin(), problem.lengths.end()));
  const auto sequences = static_cast<std::int64_t>(problem.lengths.size());
  if (kv.layout == KvLayout::kContiguous) {
    problem.pages = sequences;
    const std::int64_t step = std::max(2, kv_block_tokens(kv.k));
    problem.page_tokens = (longest + step) / step * step;
    return;
  }
  problem.page_tokens = kv.page_size;
  problem.table_stride = (longest + kv.page_size - 1) / kv.page_size + 1;
  problem.pages = sequences * problem.table_stride + kSpareAttentionPages;
  std::vector<std::int32_t> order(static_cast<std::size_t>(problem.pages));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(page_seed);
  std::shuffle(order.begin(), order.end(), random);
  problem.block_table.assign(order.begin(), order.end() - kSpareAttentionPages);
}

// A window for each sequence, and one more.
void make_attention_residual(const DecodeAttentionSpec& spec, std::uint32_t page_seed,
                             AttentionProblem& problem) {
  if (spec.kv.k.granularity != KvGranularity::kChannel) return;
  problem.residual_slot_count = static_cast<std::int64_t>(problem.lengths.size()) + 1;
  const KvTensorLayout layout = AttentionTensor(spec, false).layout();
  problem.residual.assign(layout.residual_bytes(problem.residual_slot_count) / 2, 0xFFFF);
  if (spec.kv.layout == KvLayout::kContiguous) return;
  problem.residual_slots.resize(problem.lengths.size() + 1);
  std::iota(problem.residual_slots.begin(), problem.residual_slots.end(), 0);
  std::mt19937 random(page_seed);
  std::shuffle(problem.residual_slots.begin(), problem.residual_slots.end(), random);
  problem.residual_slots.pop_back();
}

}  // namespace

AttentionProblem make_attention_problem(const DecodeAttentionSpec& spec,
                                        const std::vector<std::int32_t>& lengths,
                                        std::uint32_t seed, std::uint32_t page_seed) {
  AttentionProblem problem;
  problem.lengths = lengths;
  make_attention_pages(spec.kv, page_seed, problem);
  make_attention_residual(spec, page_seed, problem);
  std::mt19937 random(seed);
  for (const bool value : {false, true}) {
    const AttentionTensor tensor(spec, value);
    auto& codes = problem.codes[value ? 1 : 0];
    auto& scales = problem.scales[value ? 1 : 0];
    codes.assign(tensor.layout().code_bytes(problem.pages, problem.page_tokens), kNanByte);
    scales.assign(tensor.layout().scale_bytes(problem.pages, problem.page_tokens), kNanByte);
    tensor.fill_given(random, problem);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::int64_t token = 0; token < lengths[s]; ++token) {
        tensor.fill_token(s, token, random, problem);
      }
    }
  }
  std::normal_distribution<double> normal;
  const auto [heads, kv_heads, head_dim, query_len] = spec.shape;
  problem.q.resize(lengths.size() * static_cast<std::size_t>(query_len * heads * head_dim));
  for (std::uint16_t& element : problem.q) {
    element = float16_from_double(float16_format(spec.activation), 1.5 * normal(random));
  }
  for (int head = 0; head < heads; ++head) {
    problem.slopes.push_back(static_cast<float>(std::exp2(-0.25 * (head % 24 + 1))));
    problem.sinks.push_back(static_cast<float>(normal(random)));
  }
  return problem;
}

}  // namespace heddle
