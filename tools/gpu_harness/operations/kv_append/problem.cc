#include "tools/gpu_harness/operations/kv_append/problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "generator/decode/float16.h"

namespace heddle {
namespace {

constexpr int kSpareAppendPages = 3;
constexpr int kSpareSlots = 2;

int pages_of(int tokens, int page_size) { return (tokens + page_size - 1) / page_size; }

// One token's row of a head, of a kind.
void fill_row(DType dtype, std::uint32_t kind, std::mt19937& random, std::uint16_t* row,
              int elements) {
  std::normal_distribution<double> normal;
  const Float16Format format = float16_format(dtype);
  const auto bits_of = [&](double value) { return float16_from_double(format, value); };
  for (int i = 0; i < elements; ++i) {
    const std::uint32_t any = random();
    const auto sign = static_cast<std::uint16_t>(any & 0x8000);
    switch (kind) {
      case 0:
        row[i] = sign;
        break;
      case 1:
        row[i] = bits_of(0.75);
        break;
      case 2:
        row[i] = static_cast<std::uint16_t>(sign | (any >> 16 & 0x1F));  // subnormals
        break;
      case 3:
        row[i] = static_cast<std::uint16_t>(sign | (format.exponent_mask() - 1));  // the largest
        break;
      case 4:
        row[i] = static_cast<std::uint16_t>(any);
        break;
      case 5:
        row[i] = bits_of(std::fabs(normal(random)));
        break;
      default:
        row[i] = bits_of(normal(random) * (i % 37 == 5 ? 20 : 1));
        break;
    }
  }
}

std::vector<std::uint16_t> random_rows(const KvAppendSpec& spec, int heads, std::int64_t tokens,
                                       std::int64_t stride, std::mt19937& random) {
  constexpr std::uint32_t kRowKinds = 48;  // most of them ordinary
  std::vector<std::uint16_t> rows(static_cast<std::size_t>(tokens * stride));
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (int head = 0; head < heads; ++head) {
      fill_row(spec.activation, random() % kRowKinds, random,
               &rows[static_cast<std::size_t>(token * stride + head * spec.shape.head_dim)],
               spec.shape.head_dim);
    }
  }
  return rows;
}

void make_append_pages(const KvSpec& kv, const KvAppendShape& shape, std::mt19937& random,
                       KvProblem& problem) {
  const auto sequences = static_cast<std::int64_t>(shape.lengths.size());
  const int longest = *std::max_element(shape.lengths.begin(), shape.lengths.end());
  if (kv.layout == KvLayout::kContiguous) {
    const int block = kv_block_tokens(kv.k);
    problem.pages = sequences;
    problem.page_tokens = shape.outside ? std::max(1, longest / 2) : longest + 3;
    problem.page_tokens = (problem.page_tokens + block - 1) / block * block;
    return;
  }
  problem.page_tokens = kv.page_size;
  const int most = pages_of(longest, kv.page_size);
  problem.table_stride = shape.outside ? std::max(1, most - 1) : most + 1;
  problem.pages = sequences * problem.table_stride + kSpareAppendPages;
  std::vector<std::int32_t> pages(static_cast<std::size_t>(problem.pages));
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), random);
  problem.block_table.assign(pages.begin(), pages.end() - kSpareAppendPages);
  if (!shape.outside) return;
  constexpr std::int32_t kNoPages[] = {-1, 1 << 30, INT32_MIN};
  for (std::size_t i = 0; i < problem.block_table.size(); i += 5) {
    problem.block_table[i] = kNoPages[i % 3];
  }
  problem.block_table.back() = static_cast<std::int32_t>(problem.pages);
}

// Cosines and sines that are true to no angle: the kernel takes them as they are.
void make_rotations(const RopeSpec& rope, const KvAppendShape& shape, std::mt19937& random,
                    KvProblem& problem) {
  if (rope.source != RopeSource::kTable) return;
  const int longest = *std::max_element(shape.lengths.begin(), shape.lengths.end());
  problem.rotation_rows = shape.outside ? std::max(1, longest - 2) : longest;
  std::uniform_real_distribution<float> any(-1, 1);
  problem.rotations.resize(static_cast<std::size_t>(problem.rotation_rows * rope.dim));
  for (float& value : problem.rotations) value = any(random);
}

// Old tokens of all kinds, and slots in a random order.
void make_append_residual(const KvAppendSpec& spec, const KvAppendShape& shape,
                          std::mt19937& random, KvProblem& problem) {
  if (spec.kv.k.granularity != KvGranularity::kChannel) return;
  const std::size_t sequences = problem.lengths.size();
  problem.residual_slot_count = static_cast<std::int64_t>(sequences) + kSpareSlots;
  problem.residual =
      random_rows(spec, spec.shape.kv_heads, problem.residual_slot_count * spec.kv.k.group_size,
                  std::int64_t{spec.shape.kv_heads} * spec.shape.head_dim, random);
  if (!shape.offsets) return;
  problem.residual_slots.resize(static_cast<std::size_t>(problem.residual_slot_count));
  std::iota(problem.residual_slots.begin(), problem.residual_slots.end(), 0);
  std::shuffle(problem.residual_slots.begin(), problem.residual_slots.end(), random);
  problem.residual_slots.resize(sequences);
  if (!shape.outside) return;
  for (std::size_t i = 1; i < sequences; i += 4) {
    problem.residual_slots[i] =
        i % 8 == 1 ? -1 : static_cast<std::int32_t>(problem.residual_slot_count);
  }
}

// Q's rows are further apart than those of K where these are. Weights about one, or about zero
// where one is added to them.
void make_query(const KvAppendSpec& spec, const KvAppendShape& shape, std::mt19937& random,
                KvProblem& problem) {
  const Float16Format format = float16_format(spec.activation);
  const auto weights = [&] {
    std::normal_distribution<double> normal(1 - spec.norm.weight_offset, 0.25);
    std::vector<std::uint16_t> row(static_cast<std::size_t>(spec.shape.head_dim));
    for (std::uint16_t& bits : row) bits = float16_from_double(format, normal(random));
    return row;
  };
  const bool query = spec.query.heads != 0;
  if (spec.norm.epsilon) problem.k_norm = weights();
  if (spec.norm.epsilon && query) problem.q_norm = weights();
  if (!query) return;
  problem.q_stride =
      std::int64_t{spec.query.heads} * spec.shape.head_dim + 2 * shape.spare_elements;
  problem.q = random_rows(spec, spec.query.heads, problem.tokens, problem.q_stride, random);
}

}  // namespace

KvAppendShape ragged_shape(std::uint32_t seed, bool outside) {
  KvAppendShape shape;
  shape.new_tokens = {0, 1, 70, 0, 0, 3, 17, 1, 33, 0};
  for (const int tokens : shape.new_tokens) {
    const int before = static_cast<int>((seed * 7919 + shape.lengths.size() * 31) % 130);
    shape.lengths.push_back(tokens + (shape.lengths.size() % 3 == 0 ? 0 : before));
  }
  // More new tokens than the sequence has: the first ones lie before its start.
  if (outside) shape.lengths[6] = 11;
  shape.spare_elements = seed % 2 == 0 ? 0 : 24;
  shape.outside = outside;
  return shape;
}

KvAppendShape decode_shape(int sequences, int longest, std::uint32_t seed) {
  KvAppendShape shape;
  shape.offsets = false;
  shape.new_tokens.assign(static_cast<std::size_t>(sequences), 1);
  std::mt19937 random(seed);
  for (int i = 0; i < sequences; ++i) {
    shape.lengths.push_back(1 + static_cast<int>(random() % static_cast<unsigned>(longest)));
  }
  return shape;
}

KvAppendShape prefill_shape(int tokens) {
  KvAppendShape shape;
  shape.new_tokens = {tokens};
  shape.lengths = {tokens};
  return shape;
}

KvProblem make_kv_problem(const KvAppendSpec& spec, const KvAppendShape& shape,
                          std::uint32_t seed) {
  std::mt19937 random(seed);
  KvProblem problem;
  problem.layout = kv_cache_layout(spec.kv, spec.shape.kv_heads, spec.shape.head_dim);
  problem.lengths.assign(shape.lengths.begin(), shape.lengths.end());
  problem.offsets.push_back(0);
  for (const int tokens : shape.new_tokens)
    problem.offsets.push_back(problem.offsets.back() + tokens);
  problem.tokens = problem.offsets.back();
  if (!shape.offsets) problem.offsets.clear();
  problem.stride = std::int64_t{spec.shape.kv_heads} * spec.shape.head_dim + shape.spare_elements;
  problem.k = random_rows(spec, spec.shape.kv_heads, problem.tokens, problem.stride, random);
  problem.v = random_rows(spec, spec.shape.kv_heads, problem.tokens, problem.stride, random);
  make_append_pages(spec.kv, shape, random, problem);
  make_rotations(spec.rope, shape, random, problem);
  make_append_residual(spec, shape, random, problem);
  make_query(spec, shape, random, problem);
  problem.given = {KvGivenScale{0.03125F + 0.001F * static_cast<float>(seed % 7), 7},
                   KvGivenScale{0.0078125F, 2}};
  const KvCacheLayout& layout = problem.layout;
  problem.bytes = {layout.k.code_bytes(problem.pages, problem.page_tokens),
                   layout.k.scale_bytes(problem.pages, problem.page_tokens),
                   layout.v.code_bytes(problem.pages, problem.page_tokens),
                   layout.v.scale_bytes(problem.pages, problem.page_tokens),
                   layout.k.residual_bytes(problem.residual_slot_count),
                   2 * static_cast<std::size_t>(problem.tokens) *
                       static_cast<std::size_t>(spec.query.heads) *
                       static_cast<std::size_t>(spec.shape.head_dim)};
  return problem;
}

KvImages kv_images(const KvProblem& problem, std::uint8_t poison) {
  KvImages images;
  for (std::size_t part = 0; part < kKvParts; ++part) {
    images[part].assign(problem.bytes[part], poison);
  }
  if (!problem.residual.empty()) {
    std::memcpy(images[kKResidual].data(), problem.residual.data(), problem.bytes[kKResidual]);
  }
  return images;
}

}  // namespace heddle
