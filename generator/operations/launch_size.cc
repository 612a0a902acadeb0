#include "generator/operations/launch_size.h"

#include <fmt/core.h>

#include <limits>
#include <string>
#include <utility>

#include "attention/config.h"
#include "generator/kv/sequence_limits.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using device::kAttentionTile;

// Largest number of tokens of all sequences together: the kernel counts them in 32 bits.
constexpr std::int64_t kMostTokensOfAll = (std::int64_t{1} << 31) - 1;

[[noreturn]] void refuse_size(std::string message) {
  throw Error(ErrorCategory::kUsage, "launch.size", std::move(message));
}

}  // namespace

void refuse_unless_zero(std::int64_t value, const char* name) {
  if (value != 0) refuse_size(fmt::format("{} is {}; allowed: 0", name, value));
}

void check_count(std::int64_t value, std::int64_t least, const char* name) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (value >= least && value <= kMost) return;
  refuse_size(fmt::format("{} = {} is not between {} and {}", name, value, least, kMost));
}

void check_m(const MRange& range, std::int64_t m) {
  if (m >= range.min && m <= range.max) return;
  throw Error(ErrorCategory::kUsage, "launch.m",
              fmt::format("M = {} is outside the spec's range [{}, {}]", m, range.min, range.max));
}

void check_append_size(const LaunchSize& size, std::int64_t least_tokens) {
  check_count(size.size, least_tokens, "tokens");
  check_count(size.sequences, size.size == 0 ? 0 : 1, "sequences");
  if (size.has_offsets || size.size == size.sequences) return;
  refuse_size(fmt::format("without offsets each of {} sequences has one token, not {} in all",
                          size.sequences, size.size));
}

void check_sequences(std::int64_t sequences, std::int64_t least) {
  if (sequences >= least && sequences <= kMostSequences) return;
  refuse_size(
      fmt::format("sequences = {} is not between {} and {}", sequences, least, kMostSequences));
}

void check_tokens(const DecodeAttentionSpec& spec, std::int64_t sequences, std::int64_t capacity) {
  const std::int64_t tiles = sequences * device::ceil_div(capacity, kAttentionTile);
  if (tiles * kAttentionTile > kMostTokensOfAll) {
    refuse_size(fmt::format("{} sequences of up to {} tokens are more than {} tokens together",
                            sequences, capacity, kMostTokensOfAll));
  }
  // And their tiles once for each head of K and V and eight rows of its queries.
  const std::int64_t rows =
      std::int64_t{spec.shape.heads} / spec.shape.kv_heads * spec.shape.query_len;
  const std::int64_t work = tiles * spec.shape.kv_heads * ((rows + 7) / 8);
  if (work <= kMostTokensOfAll) return;
  refuse_size(
      fmt::format("{} sequences of up to {} tokens are {} tiles of {} tokens for all "
                  "heads, more than {}",
                  sequences, capacity, work, kAttentionTile, kMostTokensOfAll));
}

void check_attention_size(const DecodeAttentionSpec& spec, const LaunchSize& size) {
  check_sequences(size.sequences, 1);
  if (size.size < 1 || size.size > kMostSequenceTokens) {
    refuse_size(fmt::format("{} tokens of a sequence are not between 1 and {}", size.size,
                            kMostSequenceTokens));
  }
  check_tokens(spec, size.sequences, size.size);
}

}  // namespace heddle
