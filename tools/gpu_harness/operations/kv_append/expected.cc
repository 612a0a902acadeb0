#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "generator/decode/float16.h"
#include "generator/families/kv_append/config.h"
#include "generator/kv/head_norm.h"
#include "generator/kv/rope.h"
#include "heddle/target.h"
#include "tools/gpu_harness/operations/kv_append/problem.h"

namespace heddle {
namespace {

float value_of(DType dtype, std::uint16_t bits) {
  return static_cast<float>(float16_to_double(float16_format(dtype), bits));
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
      const Rotation rotation = rope_rotation(frequencies[static_cast<std::size_t>(i)],
                                              static_cast<std::uint32_t>(position));
      rotations.push_back(scaled(rotation, rope_factor(rope)));
    }
  }
  return rotations;
}

struct HostPlace {
  std::int64_t page = 0;
  std::int64_t token = 0;
};

// Nothing where the token lies outside of the cache.
std::optional<HostPlace> host_place_of(const KvSpec& kv, const KvProblem& problem,
                                       std::size_t sequence, int position) {
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

// Rows of heads, one after the other from the row `first` on, to their places.
template <class OffsetOf>
void put_rows(const std::vector<std::uint8_t>& rows, int first, int heads, int row_bytes,
              const OffsetOf& offset_of, std::vector<std::uint8_t>& to) {
  for (int head = 0; head < heads; ++head) {
    const auto row = rows.begin() + std::ptrdiff_t{first + head} * row_bytes;
    std::copy(row, row + row_bytes, to.begin() + static_cast<std::ptrdiff_t>(offset_of(head)));
  }
}

// The token's rows, of codes and of scales.
void put_token(const KvTensorLayout& layout, const KvProblem& problem, const HostPlace& place,
               const KvToken& token, std::vector<std::uint8_t>& codes,
               std::vector<std::uint8_t>& scales) {
  const auto code_offset = [&](int head) {
    return layout.code_offset(place.page, problem.page_tokens, place.token, head);
  };
  const auto scale_offset = [&](int head) {
    return layout.scale_offset(place.page, problem.page_tokens, place.token, head);
  };
  put_rows(token.codes, 0, layout.heads, layout.row_bytes, code_offset, codes);
  put_rows(token.scales, 0, layout.scale_heads, layout.scale_row_bytes, scale_offset, scales);
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
    const auto place = host_place_of(spec_.kv, problem_, sequence_, static_cast<int>(begin));
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
      const auto code_offset = [&](int head) {
        return layout.code_offset(place->page, problem_.page_tokens, place->token + token, head);
      };
      put_rows(block.codes, token * heads, heads, layout.row_bytes, code_offset, parts_[kKCodes]);
    }
    const auto scale_offset = [&](int head) {
      return layout.scale_offset(place->page, problem_.page_tokens, place->token, head);
    };
    put_rows(block.scales, 0, heads, layout.scale_row_bytes, scale_offset, parts_[kKScales]);
  }

  std::size_t elements() const {
    return static_cast<std::size_t>(spec_.shape.kv_heads) *
           static_cast<std::size_t>(spec_.shape.head_dim);
  }
  // Where element i of all heads lies in the window.
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

// What happens to heads of K and of Q before they are stored.
class Heads {
 public:
  Heads(const KvAppendSpec& spec, const KvProblem& problem)
      : spec_(spec),
        problem_(problem),
        rotates_(spec.rope.pairing != RopePairing::kNone),
        k_norm_(values(problem.k_norm)),
        q_norm_(values(problem.q_norm)) {
    if (rotates_) frequencies_ = rope_frequencies(spec.rope);
    // No target has a part in it.
    const auto config = kv_append_config(spec, target_from_name("h200"));
    k_span_ = config.span_of(config.k, rotates_);
    q_span_ = config.span_of(device::query_tensor(spec.shape.head_dim), rotates_);
  }

  // A token at the position has rotations, or needs none.
  bool has_rotations(int position) const {
    return spec_.rope.source != RopeSource::kTable || position < problem_.rotation_rows;
  }
  // change_k() and change_q() work in place on [heads][head_dim]; the position is not negative and
  // has rotations.
  void change_k(int position, std::vector<float>& k) const {
    change(position, k_span_, k_norm_, k);
  }
  void change_q(int position, std::vector<float>& q) const {
    change(position, q_span_, q_norm_, q);
  }
  bool change_nothing() const { return !rotates_ && !spec_.norm.epsilon; }

 private:
  std::vector<float> values(const std::vector<std::uint16_t>& row) const {
    std::vector<float> values(row.size());
    std::transform(row.begin(), row.end(), values.begin(),
                   [&](std::uint16_t bits) { return value_of(spec_.activation, bits); });
    return values;
  }
  void change(int position, int span, const std::vector<float>& weights,
              std::vector<float>& heads) const {
    const auto head_dim = static_cast<std::size_t>(spec_.shape.head_dim);
    std::vector<Rotation> rotations;
    if (rotates_) rotations = rotations_at(spec_.rope, problem_, position, frequencies_);
    for (std::size_t first = 0; first < heads.size(); first += head_dim) {
      if (spec_.norm.epsilon) normalize_head(spec_.norm, span, weights, &heads[first]);
      if (rotates_) rotate_row(spec_.rope, rotations, &heads[first]);
    }
  }

  const KvAppendSpec& spec_;
  const KvProblem& problem_;
  bool rotates_;
  std::vector<float> k_norm_;
  std::vector<float> q_norm_;
  std::vector<std::uint64_t> frequencies_;
  int k_span_ = 0;
  int q_span_ = 0;
};

// Q of a token, wherever its page lies.
void put_query(const KvAppendSpec& spec, const KvProblem& problem, const Heads& heads, int token,
               int position, std::vector<std::uint8_t>& out) {
  if (spec.query.heads == 0 || position < 0 || !heads.has_rotations(position)) return;
  const auto elements =
      static_cast<std::size_t>(spec.query.heads) * static_cast<std::size_t>(spec.shape.head_dim);
  const auto row = problem.q.begin() + static_cast<std::ptrdiff_t>(token * problem.q_stride);
  std::vector<std::uint16_t> bits(row, row + static_cast<std::ptrdiff_t>(elements));
  if (!heads.change_nothing()) {
    std::vector<float> q(elements);
    for (std::size_t i = 0; i < elements; ++i) q[i] = value_of(spec.activation, bits[i]);
    heads.change_q(position, q);
    for (std::size_t i = 0; i < elements; ++i) {
      bits[i] = float16_from_double(float16_format(spec.activation), q[i]);
    }
  }
  std::memcpy(&out[static_cast<std::size_t>(token) * 2 * elements], bits.data(), 2 * elements);
}

}  // namespace

void append_on_host(const KvAppendSpec& spec, const KvProblem& problem, KvImages& parts) {
  const bool by_channel = spec.kv.k.granularity == KvGranularity::kChannel;
  const auto [heads, head_dim] = spec.shape;
  const auto elements = static_cast<std::size_t>(heads) * static_cast<std::size_t>(head_dim);
  const Heads of_token(spec, problem);
  std::vector<float> k(elements);
  std::vector<float> v(elements);
  for (std::size_t sequence = 0; sequence < problem.lengths.size(); ++sequence) {
    const int first =
        problem.offsets.empty() ? static_cast<int>(sequence) : problem.offsets[sequence];
    const int last = problem.offsets.empty() ? first + 1 : problem.offsets[sequence + 1];
    NewKeys new_keys;
    for (int token = first; token < last; ++token) {
      const int position = problem.lengths[sequence] - (last - token);
      const auto place = host_place_of(spec.kv, problem, sequence, position);
      const bool rotation_missing = !of_token.has_rotations(position);
      put_query(spec, problem, of_token, token, position, parts[kQuery]);
      if (by_channel ? position < 0 : !place || rotation_missing) continue;
      const auto row = static_cast<std::size_t>(token * problem.stride);
      for (std::size_t i = 0; i < elements; ++i) {
        k[i] = value_of(spec.activation, problem.k[row + i]);
        v[i] = value_of(spec.activation, problem.v[row + i]);
      }
      if (!rotation_missing) of_token.change_k(position, k);
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
