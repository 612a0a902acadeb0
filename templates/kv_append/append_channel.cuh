// K with scales per channel: its new tokens into the residual window, and blocks that they fill
// into the cache.
//
// A thread block takes one block of tokens of one head. Lanes share its rows out as elsewhere, 16
// elements each, and take kSlots tokens at a time; each keeps the range of its 16 channels, and its
// values in shared memory until their scales are known.
//
// The first block of tokens that the new ones of a sequence reach is whole if the window's old
// tokens complete it. The thread block that takes it also writes the window's new tokens, those of
// the last block: it has read the old ones before. No other thread block touches this window.
#pragma once

#include "kv_append/channel_scale.cuh"
#include "kv_append/rope.cuh"
#include "kv_append/rows.cuh"

namespace heddle {

// What a sequence may have of whole blocks, and one thread block more: sequence s has those from
// s + offsets[s] / block on.
template <class Config>
__device__ __forceinline__ int channel_units(const KvAppendParameters& p) {
  return p.sequences + (p.offsets == nullptr ? 0 : p.tokens / Config::K::kGroupSize);
}

template <class Config>
struct ChannelAppend {
  using Tensor = typename Config::K;
  using Value = typename Config::Value;
  static constexpr int kBlock = Tensor::kGroupSize;
  static constexpr int kSlots = Config::kThreads / Config::kLanes;
  static constexpr int kRounds = (kBlock + kSlots - 1) / kSlots;
  static constexpr bool kRotate = Config::kRope != RopePairing::kNone;
  static constexpr int kRowBytes = 2 * Config::kHeadDim;  // of the window

  // Tokens of a round are what a tile is elsewhere.
  struct Round : Config {
    static constexpr int kTokens = kSlots;
  };
  // Shared memory: rotations, their positions, ranges of the channels, which become scales, values.
  static constexpr int kPositions = Rotations<Round>::kBytes;
  static constexpr int kChannels = kPositions + (4 * kSlots + 15) / 16 * 16;
  static constexpr int kValues = kChannels + 8 * Config::kHeadDim;
  static_assert(Config::kSharedBytes >= kValues + 32 * Config::kThreads * kRounds,
                "the launch gives this much shared memory");

  const KvAppendParameters& p;
  u32 shared;
  int head;
  int lane;
  int slot;
  int element;
  bool has_values;

  // Of the sequence.
  int sequence;
  int length;
  int last_row;   // of the input, that of the last new token
  int first_new;  // position
  u8* window;     // null: none

  __device__ __forceinline__ ChannelAppend(const KvAppendParameters& p, int head, u32 shared)
      : p(p), shared(shared), head(head) {
    lane = static_cast<int>(threadIdx.x) % Config::kLanes;
    slot = static_cast<int>(threadIdx.x) / Config::kLanes;
    element = 16 * lane;
    has_values = element < Config::kHeadDim;
  }

  // The sequence of a unit; how many units of it come before, or -1 if it has no new tokens.
  __device__ __forceinline__ int find_sequence(int unit) {
    int row = unit;
    int new_tokens = 1;
    int before = 0;
    sequence = unit;
    if (p.offsets != nullptr) {
      sequence = last_sequence(p.sequences, [&](int i) { return i + offset(i) / kBlock <= unit; });
      if (sequence >= p.sequences) return -1;
      row = offset(sequence);
      new_tokens = offset(sequence + 1) - row;
      before = unit - sequence - row / kBlock;
    }
    length = static_cast<int>(load_global_4(p.lengths + sequence));
    if (new_tokens <= 0 || length <= 0) return -1;
    last_row = row + new_tokens - 1;
    first_new = length > new_tokens ? length - new_tokens : 0;
    const int window_slot = p.residual_slots == nullptr
                                ? sequence
                                : static_cast<int>(load_global_4(p.residual_slots + sequence));
    const bool has_window = static_cast<u32>(window_slot) < static_cast<u32>(p.residual_slot_count);
    const i64 row_of_window = (static_cast<i64>(window_slot) * Config::kHeads + head) * kBlock;
    window = has_window ? p.residual + row_of_window * kRowBytes : nullptr;
    return before;
  }

  // All tokens of the block that begins at this position, old ones from the window.
  __device__ __forceinline__ void fill_block(int begin) const {
    const Place place = place_at<Config>(p, sequence, begin);
    bool complete = place.inside && (window != nullptr || first_new <= begin);
    if constexpr (Config::kRopeTable) complete = complete && begin + kBlock <= p.rotation_rows;
    if (!complete) return;
    const ChannelScales<Tensor> scales{shared + kChannels, Config::kHeadDim};
    scales.clear(Config::kThreads);
    KvRange ranges[16];
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      const int token = round * kSlots + slot;
      const bool has_row = has_values && token < kBlock;
      u32 pairs[8] = {};
      load(begin + round * kSlots, kBlock - round * kSlots, begin + token, has_row, pairs);
      if (!has_row) continue;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        ranges[2 * i].template add<Tensor>(Value::low_to_float(pairs[i]));
        ranges[2 * i + 1].template add<Tensor>(Value::high_to_float(pairs[i]));
      }
      store_shared_16(values(round, 0), {pairs[0], pairs[1], pairs[2], pairs[3]});
      store_shared_16(values(round, 1), {pairs[4], pairs[5], pairs[6], pairs[7]});
    }
    block_barrier();
    scales.template add<Config::kLanes>(ranges, element, has_values);
    block_barrier();
    // A block of tokens is a token of the scales.
    const Place of_scales{0, place.page, place.token / kBlock, true};
    const i64 row =
        rows_before<Config>(Config::kHeads, of_scales, head, p.page_tokens / kBlock, kBlock);
    scales.find(p.k_cache.scales + row * Tensor::kScaleRowBytes, Config::kThreads);
    block_barrier();
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      const int token = round * kSlots + slot;
      if (!has_values || token >= kBlock) continue;
      store_codes(scales, {0, place.page, place.token + token, true}, round);
    }
  }

  // The new tokens of the last block, which is not full.
  __device__ __forceinline__ void fill_window() const {
    const int begin = length / kBlock * kBlock;
    if (begin == length || window == nullptr) return;
    const int first = first_new > begin ? first_new : begin;
#pragma unroll 1
    for (int from = first; from < length; from += kSlots) {
      const int position = from + slot;
      bool has_row = has_values && position < length && position < capacity();
      if constexpr (Config::kRopeTable) has_row = has_row && position < p.rotation_rows;
      u32 pairs[8] = {};
      load(from, length - from, position, has_row, pairs);
      if (has_row) store_words(window + (position - begin) * kRowBytes + 2 * element, pairs);
    }
  }

 private:
  __device__ __forceinline__ int offset(int i) const {
    return static_cast<int>(load_global_4(p.offsets + i));
  }
  // Tokens that the sequence may have.
  __device__ __forceinline__ int capacity() const {
    if constexpr (!Config::kPaged) return p.page_tokens;
    const i64 tokens = static_cast<i64>(p.table_stride) * Config::kPageSize;
    return tokens < 0x7fffffff ? static_cast<int>(tokens) : 0x7fffffff;
  }
  // A thread's own.
  __device__ __forceinline__ u32 values(int round, int half) const {
    return shared + kValues +
           16 * ((2 * round + half) * Config::kThreads + static_cast<int>(threadIdx.x));
  }

  // The thread's 16 elements of the token at `position`, as the window has them. All threads of the
  // block call it, for `tokens` tokens from `first` on.
  __device__ __forceinline__ void load(int first, int tokens, int position, bool has_row,
                                       u32 (&pairs)[8]) const {
    const Rotations<Round> rotations{shared};
    if constexpr (kRotate) {
      block_barrier();  // the round before has read its rotations
      if (threadIdx.x < kSlots) {
        store_shared_4(shared + kPositions + 4 * threadIdx.x,
                       static_cast<u32>(first) + threadIdx.x);
      }
      block_barrier();
      fill_rotations(p, shared + kPositions, rotations, tokens < kSlots ? tokens : kSlots);
      block_barrier();
    }
    if (!has_row) return;
    if (position < first_new) {
      const u8* row = window + position % kBlock * kRowBytes + 2 * element;
      const u32x4 low = load_global_16_coherent(row);
      const u32x4 high = load_global_16_coherent(row + 16);
      pairs[0] = low.x, pairs[1] = low.y, pairs[2] = low.z, pairs[3] = low.w;
      pairs[4] = high.x, pairs[5] = high.y, pairs[6] = high.z, pairs[7] = high.w;
      return;
    }
    const u8* row =
        p.k + (last_row - (length - 1 - position)) * p.k_stride + head * Config::kHeadDim * 2;
    Sixteen own = {};
    own.load_8(0, row + 2 * element);
    own.load_8(1, row + 2 * element + 16);
#pragma unroll
    for (int i = 0; i < 8; ++i) pairs[i] = own.pairs[i];
    if constexpr (kRotate) {
      Sixteen partner = {};
      if constexpr (Config::kRope == RopePairing::kNeox) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int from = element + 8 * half;
          if (from < Config::kRopeDim) partner.load_8(half, row + 2 * neox_partner<Config>(from));
        }
      }
      float x[1][16];
      float y[1][16];
      own.template widen<Value>(x[0]);
      partner.template widen<Value>(y[0]);
      rotate_rows(rotations, position - first, element, y, x);
#pragma unroll
      for (int i = 0; i < 8; ++i) pairs[i] = Value::from_floats(x[0][2 * i], x[0][2 * i + 1]);
    }
  }

  __device__ __forceinline__ void store_codes(const ChannelScales<Tensor>& scales,
                                              const Place& place, int round) const {
    const u32x4 low = load_shared_16(values(round, 0));
    const u32x4 high = load_shared_16(values(round, 1));
    const Sixteen own{{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
    float x[16];
    own.template widen<Value>(x);
    u32 words[KvEncode<Tensor>::kWords];
    scales.codes(x, element, words);
    const i64 row = rows_before<Config>(Config::kHeads, place, head, p.page_tokens);
    store_words(p.k_cache.codes + row * Tensor::kRowBytes + element * Tensor::kBits / 8, words);
  }
};

// `unit`: of channel_units().
template <class Config>
__device__ __forceinline__ void append_channel(const KvAppendParameters& p, int unit, int head,
                                               u32 shared) {
  using Append = ChannelAppend<Config>;
  Append append(p, head, shared);
  const int before = append.find_sequence(unit);
  if (before < 0) return;
  const int begin = (append.first_new / Append::kBlock + before) * Append::kBlock;
  if (begin + Append::kBlock <= append.length) append.fill_block(begin);
  if (before == 0) append.fill_window();
}

}  // namespace heddle
