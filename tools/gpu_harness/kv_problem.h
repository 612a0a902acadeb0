// Random input of kv_append, and what must come of it.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_KV_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_KV_PROBLEM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kv_cache.h"
#include "heddle/kv_codec.h"
#include "heddle/spec.h"

namespace heddle {

// Which tokens are new.
struct KvAppendShape {
  std::vector<int> new_tokens;  // of each sequence
  std::vector<int> lengths;     // of each sequence, the new tokens included
  bool offsets = true;          // false: every sequence has one new token
  int page_tokens = 64;         // contiguous: what a sequence may have
  int spare_elements = 0;       // between the rows of two tokens, of K and of V
  // Some tokens beyond their table or row, some pages that do not exist: nothing is written of
  // them.
  bool outside = false;
};

// A few sequences: some without new tokens, some that begin, some that are long.
KvAppendShape ragged_shape(std::uint32_t seed, bool outside);
// `sequences` of up to `longest` tokens with one new token each.
KvAppendShape decode_shape(int sequences, int longest, std::uint32_t seed);
// `tokens` new tokens of one sequence.
KvAppendShape prefill_shape(int tokens);

enum KvPart { kKCodes, kKScales, kVCodes, kVScales };

struct KvProblem {
  KvCacheLayout layout;
  std::int64_t tokens = 0;
  std::int64_t pages = 0;
  std::int64_t page_tokens = 0;
  std::int64_t table_stride = 0;
  std::int64_t stride = 0;       // elements
  std::vector<std::uint16_t> k;  // [tokens][stride]
  std::vector<std::uint16_t> v;
  std::vector<std::int32_t> offsets;  // empty without
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> block_table;
  std::vector<float> rotations;
  std::int64_t rotation_rows = 0;
  std::array<KvGivenScale, 2> given;  // of K, of V
  std::array<std::size_t, 4> bytes;   // of each KvPart
};

// Values about one and rows of all that is special: zeros, constants, subnormals, the largest,
// infinities and NaN, random bits.
KvProblem make_kv_problem(const KvAppendSpec& spec, const KvAppendShape& shape,
                          std::uint32_t seed = 1);

// Writes what kv_append must write into images of the four tensors, by quantize_kv() and
// rotate_row(). Bytes that it must not touch stay.
void append_on_host(const KvAppendSpec& spec, const KvProblem& problem,
                    std::array<std::vector<std::uint8_t>, 4>& parts);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_KV_PROBLEM_H_
