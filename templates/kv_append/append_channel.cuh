// K with scales per channel: its new tokens into the residual window, and blocks that they fill
// into the cache.
//
// A thread block takes one block of tokens of one head. Lanes share its rows out as elsewhere, 16
// elements each, and take kSlots tokens at a time. All tokens come to shared memory at once, where
// new ones are turned; each lane keeps the range of its 16 channels, and reads its values again
// when their scales are known.
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
  // Shared memory: rotations, positions, ranges of the channels, which become scales, values.
  static constexpr int kPositions = Rotations<Round>::kBytes;
  static constexpr int kChannels = kPositions + (kRotate ? 4 * kBlock : 0);
  static constexpr int kValues = kChannels + Config::kHeadDim / 16 * ChannelScales<Tensor>::kBytes;
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
    set_positions(begin, kBlock);
    fetch(begin);
    block_barrier();
    KvRange ranges[16];
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      const int first = begin + round * kSlots;
      if constexpr (kRotate) {
        if (first + kSlots > first_new) turn(round, first + slot >= first_new);
      }
      if (!has_row(round)) continue;
      const Sixteen own = values_of(round);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        ranges[2 * i].template add<Tensor>(Value::low_to_float(own.pairs[i]));
        ranges[2 * i + 1].template add<Tensor>(Value::high_to_float(own.pairs[i]));
      }
    }
    scales.template add<Config::kLanes>(ranges, element, has_values);
    block_barrier();
    // A block of tokens is a token of the scales.
    const Place of_scales{0, place.page, place.token / kBlock, true};
    const i64 row =
        rows_before<Config>(Config::kHeads, of_scales, head, p.page_tokens / kBlock, kBlock);
    scales.find(p.k_cache.scales + row * Tensor::kScaleRowBytes, Config::kThreads);
    block_barrier();
    if (!has_values) return;
    typename ChannelScales<Tensor>::Entry own_scales[16];
    scales.load(element, own_scales);
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      if (!has_row(round)) continue;
      float x[16];
      values_of(round).template widen<Value>(x);
      u32 words[KvEncode<Tensor>::kWords];
      scales.codes(x, own_scales, words);
      const Place of_token{0, place.page, place.token + round * kSlots + slot, true};
      const i64 codes_row = rows_before<Config>(Config::kHeads, of_token, head, p.page_tokens);
      store_words(p.k_cache.codes + codes_row * Tensor::kRowBytes + element * Tensor::kBits / 8,
                  words);
    }
  }

  // The new tokens of the last block, which is not full.
  __device__ __forceinline__ void fill_window() const {
    const int begin = length / kBlock * kBlock;
    if (begin == length || window == nullptr) return;
    const int first = first_new > begin ? first_new : begin;
    if constexpr (kRotate) set_positions(first, length - first);
#pragma unroll 1
    for (int round = 0; first + round * kSlots < length; ++round) {
      const int position = first + round * kSlots + slot;
      bool inside = has_values && position < length && position < capacity();
      if constexpr (Config::kRopeTable) inside = inside && position < p.rotation_rows;
      Sixteen own = {};
      Sixteen partner = {};
      if (inside) {
        const u8* row = row_of(position);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int from = element + 8 * half;
          own.load_8(half, row + 2 * from);
          if (has_partner(from)) partner.load_8(half, row + 2 * neox_partner<Config>(from));
        }
      }
      if constexpr (kRotate) {
        block_barrier();
        fill(round, length - first);
        block_barrier();
        rotate(partner, own);
      }
      if (inside) store_words(window + (position - begin) * kRowBytes + 2 * element, own.pairs);
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
  // Whether the thread has a token of the block in this round.
  __device__ __forceinline__ bool has_row(int round) const {
    return has_values && (kBlock % kSlots == 0 || round * kSlots + slot < kBlock);
  }
  // Of a new token, in the input.
  __device__ __forceinline__ const u8* row_of(int position) const {
    return p.k + (last_row - (length - 1 - position)) * p.k_stride + head * kRowBytes;
  }
  // Where 8 elements of the slot's token in a round are, from a multiple of 8 on.
  __device__ __forceinline__ u32 values(int round, int from) const {
    const int thread = slot * Config::kLanes + from / 16;
    return shared + kValues + 16 * ((2 * round + from / 8 % 2) * Config::kThreads + thread);
  }
  __device__ __forceinline__ Sixteen values_of(int round) const {
    const u32x4 low = load_shared_16(values(round, element));
    const u32x4 high = load_shared_16(values(round, element + 8));
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
  }

  // The block's tokens as they come, all on their way at the same time.
  __device__ __forceinline__ void fetch(int begin) const {
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      if (!has_row(round)) continue;
      const int position = begin + round * kSlots + slot;
      const u8* row =
          position < first_new ? window + (position - begin) * kRowBytes : row_of(position);
#pragma unroll
      for (int half = 0; half < 16; half += 8) {
        const u8* from = row + 2 * (element + half);
        if constexpr (Config::kAsyncCopies) {
          copy_async_16(values(round, element + half), from, true);
        } else {
          store_shared_16(values(round, element + half), load_global_16_coherent(from));
        }
      }
    }
    if constexpr (Config::kAsyncCopies) {
      copy_async_commit();
      copy_async_wait<0>();
    }
  }

  // Tokens from position `first` on, for the rotations of rounds of them.
  __device__ __forceinline__ void set_positions(int first, int tokens) const {
    if constexpr (kRotate) {
      for (int i = static_cast<int>(threadIdx.x); i < tokens; i += Config::kThreads)
        store_shared_4(shared + kPositions + 4 * i, static_cast<u32>(first + i));
    }
  }
  __device__ __forceinline__ void fill(int round, int tokens) const {
    const int left = tokens - round * kSlots;
    fill_rotations(p, shared + kPositions + 4 * round * kSlots, Rotations<Round>{shared},
                   left < kSlots ? left : kSlots);
  }
  static __device__ __forceinline__ bool has_partner(int from) {
    return Config::kRope == RopePairing::kNeox && from < Config::kRopeDim;
  }
  // The slot's token of the round whose rotations are there.
  __device__ __forceinline__ void rotate(const Sixteen& partner, Sixteen& own) const {
    float x[1][16];
    float y[1][16];
    own.template widen<Value>(x[0]);
    partner.template widen<Value>(y[0]);
    rotate_rows(Rotations<Round>{shared}, slot, element, y, x);
#pragma unroll
    for (int i = 0; i < 8; ++i) own.pairs[i] = Value::from_floats(x[0][2 * i], x[0][2 * i + 1]);
  }
  // A round's new tokens in shared memory. All threads of the block call it.
  __device__ __forceinline__ void turn(int round, bool is_new) const {
    fill(round, kBlock);
    block_barrier();
    is_new = is_new && has_row(round);
    Sixteen own = {};
    if (is_new) {
      own = values_of(round);
      Sixteen partner = {};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int from = element + 8 * half;
        if (!has_partner(from)) continue;
        const u32x4 v = load_shared_16(values(round, neox_partner<Config>(from)));
        partner.pairs[4 * half] = v.x, partner.pairs[4 * half + 1] = v.y;
        partner.pairs[4 * half + 2] = v.z, partner.pairs[4 * half + 3] = v.w;
      }
      rotate(partner, own);
    }
    block_barrier();
    if (!is_new) return;
    const u32(&pairs)[8] = own.pairs;
    store_shared_16(values(round, element), {pairs[0], pairs[1], pairs[2], pairs[3]});
    store_shared_16(values(round, element + 8), {pairs[4], pairs[5], pairs[6], pairs[7]});
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
