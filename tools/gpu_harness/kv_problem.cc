#include "tools/gpu_harness/kv_problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "generator/decode/float16.h"
#include "generator/kv/rope.h"

namespace heddle {
namespace {

constexpr int kSparePages = 3;
constexpr int kSpareSlots = 2;

int pages_of(int tokens, int page_size) { return (tokens + page_size - 1) / page_size; }

float value_of(DType dtype, std::uint16_t bits) {
  return static_cast<float>(float16_to_double(float16_format(dtype), bits));
}

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

std::vector<std::uint16_t> random_rows(const KvAppendSpec& spec, std::int64_t tokens,
                                       std::int64_t stride, std::mt19937& random) {
  constexpr std::uint32_t kKinds = 48;  // most of them ordinary
  std::vector<std::uint16_t> rows(static_cast<std::size_t>(tokens * stride));
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (int head = 0; head < spec.shape.kv_heads; ++head) {
      fill_row(spec.activation, random() % kKinds, random,
               &rows[static_cast<std::size_t>(token * stride + head * spec.shape.head_dim)],
               spec.shape.head_dim);
    }
  }
  return rows;
}

void make_pages(const KvSpec& kv, const KvAppendShape& shape, std::mt19937& random,
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
  problem.pages = sequences * problem.table_stride + kSparePages;
  std::vector<std::int32_t> pages(static_cast<std::size_t>(problem.pages));
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), random);
  problem.block_table.assign(pages.begin(), pages.end() - kSparePages);
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

std::vector<Rotation> rotations_at(const RopeSpec& rope, const KvProblem& problem, int position,
                                   const std::vector<std::uint64_t>& frequencies) {
  std::vector<Rotation> rotations;
  for (int i = 0; i < rope.dim / 2; ++i) {
    if (rope.source == RopeSource::kTable) {
      const float* row =
          &problem
               .rotations[static_cast<std::size_t>(position) * static_cast<std::size_t>(rope.dim)];
      rotations.push_back({row[i], row[i + rope.dim / 2]});
    } else {
      rotations.push_back(rope_rotation(frequencies[static_cast<std::size_t>(i)],
                                        static_cast<std::uint32_t>(position)));
    }
  }
  return rotations;
}

struct HostPlace {
  std::int64_t page = 0;
  std::int64_t token = 0;
};

// Nothing where the token lies outside of the cache.
std::optional<HostPlace> place_of(const KvSpec& kv, const KvProblem& problem, std::size_t sequence,
                                  int position) {
  if (position < 0) return std::nullopt;
  if (kv.layout == KvLayout::kContiguous) {
    if (position >= problem.page_tokens) return std::nullopt;
    return HostPlace{static_cast<std::int64_t>(sequence), position};
  }
  const int index = position / kv.page_size;
  if (index >= problem.table_stride) return std::nullopt;
  const std::int32_t page =
      problem.block_table[sequence * static_cast<std::size_t>(problem.table_stride) +
                          static_cast<std::size_t>(index)];
  if (page < 0 || page >= problem.pages) return std::nullopt;
  return HostPlace{page, position % kv.page_size};
}

// Tokens that a sequence may have.
std::int64_t capacity_of(const KvSpec& kv, const KvProblem& problem) {
  return kv.layout == KvLayout::kPaged ? problem.table_stride * kv.page_size : problem.page_tokens;
}

// Old tokens of all kinds, and slots in a random order.
void make_residual(const KvAppendSpec& spec, const KvAppendShape& shape, std::mt19937& random,
                   KvProblem& problem) {
  if (spec.kv.k.granularity != KvGranularity::kChannel) return;
  const std::size_t sequences = problem.lengths.size();
  problem.residual_slot_count = static_cast<std::int64_t>(sequences) + kSpareSlots;
  problem.residual = random_rows(spec, problem.residual_slot_count * spec.kv.k.group_size,
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

// The token's rows, of codes and of scales, to their places.
void put_token(const KvTensorLayout& layout, const KvProblem& problem, const HostPlace& place,
               const KvToken& token, std::vector<std::uint8_t>& codes,
               std::vector<std::uint8_t>& scales) {
  for (int head = 0; head < layout.heads; ++head) {
    const auto row = token.codes.begin() + std::ptrdiff_t{head} * layout.row_bytes;
    std::copy(row, row + layout.row_bytes,
              codes.begin() + static_cast<std::ptrdiff_t>(layout.code_offset(
                                  place.page, problem.page_tokens, place.token, head)));
  }
  for (int head = 0; head < layout.scale_heads; ++head) {
    const auto row = token.scales.begin() + std::ptrdiff_t{head} * layout.scale_row_bytes;
    std::copy(row, row + layout.scale_row_bytes,
              scales.begin() + static_cast<std::ptrdiff_t>(layout.scale_offset(
                                   place.page, problem.page_tokens, place.token, head)));
  }
}

// K of the new tokens of a sequence with scales per channel, by position, [heads][head_dim].
using NewKeys = std::map<std::int64_t, std::vector<float>>;

// Blocks that are full become codes, with the window's old tokens; the rest goes to the window.
class KeyBlocks {
 public:
  KeyBlocks(const KvAppendSpec& spec, const KvProblem& problem, std::size_t sequence,
            KvImages& parts)
      : spec_(spec), problem_(problem), sequence_(sequence), parts_(parts) {
    const std::int64_t slot = problem.residual_slots.empty() ? static_cast<std::int64_t>(sequence)
                                                             : problem.residual_slots[sequence];
    if (slot >= 0 && slot < problem.residual_slot_count) slot_ = slot;
  }

  // Where the first new token stands, those that are left out included.
  void append(const NewKeys& keys, std::int64_t first_new) {
    const std::int64_t tokens = spec_.kv.k.group_size;
    const std::int64_t length = problem_.lengths[sequence_];
    const std::int64_t full = length / tokens * tokens;
    for (std::int64_t begin = first_new / tokens * tokens; begin < full; begin += tokens) {
      quantize(keys, first_new, begin);
    }
    if (!slot_) return;
    for (const auto& [position, row] : keys) {
      if (position < full || position >= capacity_of(spec_.kv, problem_)) continue;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::uint16_t value = float16_from_double(float16_format(spec_.activation), row[i]);
        std::memcpy(place_in_window(position, i), &value, sizeof value);
      }
    }
  }

 private:
  void quantize(const NewKeys& keys, std::int64_t first_new, std::int64_t begin) {
    const KvTensorLayout& layout = problem_.layout.k;
    const auto place = place_of(spec_.kv, problem_, sequence_, static_cast<int>(begin));
    if (!place) return;
    std::vector<float> values;
    for (std::int64_t position = begin; position < begin + layout.scale_tokens; ++position) {
      const bool is_new = position >= first_new;
      if (is_new ? keys.count(position) == 0 : !slot_) return;
      for (std::size_t i = 0; i < elements(); ++i) {
        values.push_back(is_new ? keys.at(position)[i] : in_window(position, i));
        values.back() = value_of(
            spec_.activation, float16_from_double(float16_format(spec_.activation), values.back()));
      }
    }
    const auto [heads, head_dim] = spec_.shape;
    const KvToken block = quantize_kv(spec_.kv.k, heads, head_dim, values.data());
    for (int token = 0; token < layout.scale_tokens; ++token) {
      for (int head = 0; head < heads; ++head) {
        const auto row =
            block.codes.begin() + std::ptrdiff_t{token * heads + head} * layout.row_bytes;
        std::copy(row, row + layout.row_bytes,
                  parts_[kKCodes].begin() +
                      static_cast<std::ptrdiff_t>(layout.code_offset(
                          place->page, problem_.page_tokens, place->token + token, head)));
      }
    }
    for (int head = 0; head < heads; ++head) {
      const auto row = block.scales.begin() + std::ptrdiff_t{head} * layout.scale_row_bytes;
      std::copy(
          row, row + layout.scale_row_bytes,
          parts_[kKScales].begin() + static_cast<std::ptrdiff_t>(layout.scale_offset(
                                         place->page, problem_.page_tokens, place->token, head)));
    }
  }

  std::size_t elements() const {
    return static_cast<std::size_t>(spec_.shape.kv_heads) *
           static_cast<std::size_t>(spec_.shape.head_dim);
  }
  // Of element i of all heads.
  std::uint8_t* place_in_window(std::int64_t position, std::size_t i) {
    const auto head_dim = static_cast<std::size_t>(spec_.shape.head_dim);
    return &parts_[kKResidual][problem_.layout.k.residual_offset(*slot_, position,
                                                                 static_cast<int>(i / head_dim)) +
                               2 * (i % head_dim)];
  }
  float in_window(std::int64_t position, std::size_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, place_in_window(position, i), sizeof bits);
    return value_of(spec_.activation, bits);
  }

  const KvAppendSpec& spec_;
  const KvProblem& problem_;
  std::size_t sequence_;
  std::optional<std::int64_t> slot_;
  KvImages& parts_;
};

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
  problem.k = random_rows(spec, problem.tokens, problem.stride, random);
  problem.v = random_rows(spec, problem.tokens, problem.stride, random);
  make_pages(spec.kv, shape, random, problem);
  make_rotations(spec.rope, shape, random, problem);
  make_residual(spec, shape, random, problem);
  problem.given = {KvGivenScale{0.03125F + 0.001F * static_cast<float>(seed % 7), 7},
                   KvGivenScale{0.0078125F, 2}};
  const KvCacheLayout& layout = problem.layout;
  problem.bytes = {layout.k.code_bytes(problem.pages, problem.page_tokens),
                   layout.k.scale_bytes(problem.pages, problem.page_tokens),
                   layout.v.code_bytes(problem.pages, problem.page_tokens),
                   layout.v.scale_bytes(problem.pages, problem.page_tokens),
                   layout.k.residual_bytes(problem.residual_slot_count)};
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

void append_on_host(const KvAppendSpec& spec, const KvProblem& problem, KvImages& parts) {
  const bool by_channel = spec.kv.k.granularity == KvGranularity::kChannel;
  const auto [heads, head_dim] = spec.shape;
  const auto elements = static_cast<std::size_t>(heads) * static_cast<std::size_t>(head_dim);
  const bool turned = spec.rope.pairing != RopePairing::kNone;
  const auto frequencies = turned ? rope_frequencies(spec.rope) : std::vector<std::uint64_t>();
  std::vector<float> k(elements);
  std::vector<float> v(elements);
  for (std::size_t sequence = 0; sequence < problem.lengths.size(); ++sequence) {
    const int first =
        problem.offsets.empty() ? static_cast<int>(sequence) : problem.offsets[sequence];
    const int last = problem.offsets.empty() ? first + 1 : problem.offsets[sequence + 1];
    NewKeys new_keys;
    for (int token = first; token < last; ++token) {
      const int position = problem.lengths[sequence] - (last - token);
      const auto place = place_of(spec.kv, problem, sequence, position);
      const bool rotation_missing =
          spec.rope.source == RopeSource::kTable && position >= problem.rotation_rows;
      if (by_channel ? position < 0 : !place || rotation_missing) continue;
      const auto row = static_cast<std::size_t>(token * problem.stride);
      for (std::size_t i = 0; i < elements; ++i) {
        k[i] = value_of(spec.activation, problem.k[row + i]);
        v[i] = value_of(spec.activation, problem.v[row + i]);
      }
      if (turned) {
        const auto rotations = rotations_at(spec.rope, problem, position, frequencies);
        for (int head = 0; head < heads; ++head) {
          rotate_row(spec.rope, rotations,
                     &k[static_cast<std::size_t>(head) * static_cast<std::size_t>(head_dim)]);
        }
      }
      if (by_channel) {
        if (!rotation_missing) new_keys[position] = k;
      } else {
        put_token(problem.layout.k, problem, *place,
                  quantize_kv(spec.kv.k, heads, head_dim, k.data(), problem.given[0]),
                  parts[kKCodes], parts[kKScales]);
      }
      if (!place || rotation_missing) continue;
      put_token(problem.layout.v, problem, *place,
                quantize_kv(spec.kv.v, heads, head_dim, v.data(), problem.given[1]), parts[kVCodes],
                parts[kVScales]);
    }
    if (!by_channel || last == first || problem.lengths[sequence] <= 0) continue;
    KeyBlocks(spec, problem, sequence, parts)
        .append(new_keys, std::max(0, problem.lengths[sequence] - (last - first)));
  }
}

}  // namespace heddle
