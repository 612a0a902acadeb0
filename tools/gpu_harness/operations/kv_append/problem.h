// Random input of kv_append.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_PROBLEM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kv_cache.h"
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

// kKResidual: the window of tokens whose block of scales per channel is not full. kQuery: Q's
// output.
enum KvPart { kKCodes, kKScales, kVCodes, kVScales, kKResidual, kQuery };
inline constexpr std::size_t kKvParts = 6;
using KvPartBytes = std::array<std::size_t, kKvParts>;
using KvImages = std::array<std::vector<std::uint8_t>, kKvParts>;

struct KvProblem {
  KvCacheLayout layout;
  std::int64_t tokens = 0;
  std::int64_t pages = 0;
  std::int64_t page_tokens = 0;
  std::int64_t table_stride = 0;
  std::int64_t stride = 0;       // elements
  std::vector<std::uint16_t> k;  // [tokens][stride]
  std::vector<std::uint16_t> v;
  std::int64_t q_stride = 0;
  std::vector<std::uint16_t> q;  // [tokens][q_stride]; empty without
  // Weights of the norm, empty without.
  std::vector<std::uint16_t> q_norm;
  std::vector<std::uint16_t> k_norm;
  std::vector<std::int32_t> offsets;  // empty without
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> block_table;
  std::vector<float> rotations;
  std::int64_t rotation_rows = 0;
  std::array<KvGivenScale, 2> given;  // of K, of V
  // With scales per channel: old tokens, and each sequence's slot, or nothing if it is the
  // sequence's number: without offsets. Some sequences have none where the shape has something
  // outside.
  std::vector<std::uint16_t> residual;
  std::vector<std::int32_t> residual_slots;
  std::int64_t residual_slot_count = 0;
  KvPartBytes bytes{};  // of each KvPart
};

// Values about one and rows of all that is special: zeros, constants, subnormals, the largest,
// infinities and NaN, random bits.
KvProblem make_kv_problem(const KvAppendSpec& spec, const KvAppendShape& shape,
                          std::uint32_t seed = 1);

// All bytes `poison`, but for the residual window, where the problem's old tokens are.
KvImages kv_images(const KvProblem& problem, std::uint8_t poison);

// Writes what kv_append must write into images of the tensors, by normalize_head(), rotate_row()
// and quantize_kv(). Bytes that it must not touch stay.
void append_on_host(const KvAppendSpec& spec, const KvProblem& problem, KvImages& parts);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_KV_APPEND_PROBLEM_H_
