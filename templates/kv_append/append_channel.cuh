// K with scales per channel: its new tokens into the residual window, and blocks that they fill
// into the cache.
//
// A thread block takes one block of tokens of one head. Lanes share its rows out as elsewhere, 16
// elements each, and take kSlots tokens at a time. All tokens come to shared memory at once, each
// thread's to places of its own, where it turns new ones; it keeps the range of its 16 channels,
// and reads its values again when their scales are known.
//
// The first block of tokens that the new ones of a sequence reach is whole if the window's old
// tokens complete it. The thread block that takes it also writes the window's new tokens, those of
// the last block: it has read the old ones before. No other thread block touches this window.
#pragma once

#include "kv_append/channel_scale.cuh"
#include "kv_append/head_norm.cuh"
#include "kv_append/row_store.cuh"
#include "kv_append/turn.cuh"

namespace heddle {

// What a sequence may have of whole blocks, and one thread block more: sequence s has those from
// s + offsets[s] / block on.
template <class Config>
__device__ __forceinline__ int channel_units(const KvAppendParameters& p) {
  return p.sequences + (p.offsets == nullptr ? 0 : p.tokens / Config::value.k.group_size);
}

template <class Config>
struct ChannelAppend {
  using Tensor = KTensor<Config>;
  using Value = typename Config::Value;
  static constexpr int kBlock = Tensor::value.group_size;
  static constexpr int kThreads = Config::value.threads();
  static constexpr int kSlots = Config::value.channel_tokens();
  static constexpr int kRounds = Config::value.channel_rounds();
  static constexpr bool kRotate = Config::value.rope != RopePairing::kNone;
  static constexpr bool kNormalizes = Tensor::kNormalizes;
  static constexpr int kRowBytes = 2 * Config::value.head_dim;  // of the window

  static constexpr int kSpan = Config::value.span_of(Tensor::value, kRotate);

  static constexpr int kRanges = Config::value.channel_ranges_offset();
  static constexpr int kValues = Config::value.channel_values_offset();

  const KvAppendParameters& p;
  u32 shared;
  int head;
  int lane;
  int slot;
  bool has_values;
  HeadWeights<Config> weights;  // of the norm

  // What belongs to the sequence.
  int sequence;
  int length;
  int last_row;   // of the input, that of the last new token
  int first_new;  // position
  u8* window;     // null: none

  __device__ __forceinline__ ChannelAppend(const KvAppendParameters& p, int head, u32 shared)
      : p(p), shared(shared), head(head) {
    lane = static_cast<int>(threadIdx.x) % Config::value.lanes;
    slot = static_cast<int>(threadIdx.x) / Config::value.lanes;
    has_values = 16 * lane < Config::value.head_dim;
    if constexpr (kNormalizes) {
      if (has_values) weights.load(p.k_norm, element(0), element(1));
    }
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
    length = static_cast<int>(load_global_4_l2(p.lengths + sequence));
    if (new_tokens <= 0 || length <= 0) return -1;
    last_row = row + new_tokens - 1;
    first_new = length > new_tokens ? length - new_tokens : 0;
    const int window_slot = p.residual_slots == nullptr
                                ? sequence
                                : static_cast<int>(load_global_4_l2(p.residual_slots + sequence));
    const bool has_window = static_cast<u32>(window_slot) < static_cast<u32>(p.residual_slot_count);
    const i64 row_of_window = (static_cast<i64>(window_slot) * Config::value.heads + head) * kBlock;
    window = has_window ? p.residual + row_of_window * kRowBytes : nullptr;
    return before;
  }

  // All tokens of the block that begins at this position, old ones from the window.
  __device__ __forceinline__ void fill_block(int begin) const {
    bool complete = window != nullptr || first_new <= begin;
    if constexpr (Config::value.rope_table)
      complete = complete && begin + kBlock <= p.rotation_rows;
    if (!complete) return;
    const ChannelScales<Tensor> scales{shared, shared + kRanges, Config::value.head_dim};
    scales.clear();
    fetch(begin);
    // While these are on their way.
    const Place place = place_at<Config>(p, sequence, begin);
    if constexpr (Config::value.async_copies) copy_async_wait<0>();
    if (!place.inside) return;
    RangesOfPairs<Value> ranges;
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      // Lanes whose row is not there take part in the norm of others.
      float factor = 1.0f;
      if constexpr (kNormalizes)
        factor = norm_factor(has_row(round) ? values_of(round) : Sixteen{});
      if (!has_row(round)) continue;
      Sixteen own = values_of(round);
      const int position = begin + round * kSlots + slot;
      if ((kRotate || kNormalizes) && position >= first_new) {
        turn(position, factor, own);
        keep_values(round, own);
      }
      ranges.add(own.pairs);
    }
    scales.template add<Config::value.lanes>(ranges, element(0), element(1), has_values);
    block_barrier();
    // A block of tokens is a token of the scales.
    const Place of_scales{0, place.page, place.token / kBlock, true};
    const i64 row =
        rows_before<Config>(Config::value.heads, of_scales, head, p.page_tokens / kBlock, kBlock);
    scales.template find<kThreads>(p.k_cache.scales + row * Tensor::value.scale_row_bytes);
    block_barrier();
    if (!has_values) return;
    typename ChannelScales<Tensor>::Entry own_scales[16];
    scales.load(element(0), element(1), own_scales);
    const bool fit = scales.all_fit();
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      if (!has_row(round)) continue;
      float x[16];
      values_of(round).template widen<Value>(x);
      u32 words[KvEncode<Tensor>::kWords];
      if (fit) {
        scales.template codes<true>(x, own_scales, words);
      } else {
        scales.template codes<false>(x, own_scales, words);
      }
      const Place of_token{0, place.page, place.token + round * kSlots + slot, true};
      const RowStore<Config, Tensor> to(p.k_cache, of_token, p.page_tokens, head, element(0));
      to.template store_codes<true>(element(1) - element(0), words);
    }
  }

  // The new tokens of the last block, which is not full.
  __device__ __forceinline__ void fill_window() const {
    const int begin = length / kBlock * kBlock;
    if (begin == length || window == nullptr) return;
    const int first = first_new > begin ? first_new : begin;
#pragma unroll 1
    for (int position = first + slot; is_round(position); position += kSlots) {
      bool inside = has_values && position < capacity();
      if constexpr (Config::value.rope_table) inside = inside && position < p.rotation_rows;
      if constexpr (kNormalizes) inside = inside && position < length;
      // Lanes whose row is not there take part in the norm of others.
      if (!kNormalizes && !inside) break;
      Sixteen own{};
      if (inside) {
        const u8* const row = row_of(position);
        own.set_8(0, load_global_16_coherent(row + 2 * element(0)));
        own.set_8(1, load_global_16_coherent(row + 2 * element(1)));
      }
      float factor = 1.0f;
      if constexpr (kNormalizes) factor = norm_factor(own);
      if (!inside) continue;
      turn(position, factor, own);
      u8* const to = window + (position - begin) * kRowBytes;
      store_global_16(to + 2 * element(0), own.get_8(0));
      store_global_16(to + 2 * element(1), own.get_8(1));
    }
  }

 private:
  __device__ __forceinline__ int offset(int i) const {
    return static_cast<int>(load_global_4_l2(p.offsets + i));
  }
  // Tokens that the sequence may have.
  __device__ __forceinline__ int capacity() const {
    if constexpr (!Config::value.paged) return p.page_tokens;
    const i64 tokens = static_cast<i64>(p.table_stride) * Config::value.page_size;
    return tokens < 0x7fffffff ? static_cast<int>(tokens) : 0x7fffffff;
  }
  // Whether the thread has a token of the block in this round.
  __device__ __forceinline__ bool has_row(int round) const {
    return has_values && (kBlock % kSlots == 0 || round * kSlots + slot < kBlock);
  }
  // Whether the thread takes part in the round of the window in which it has this token; in a norm
  // all threads do as long as one has a token.
  __device__ __forceinline__ bool is_round(int position) const {
    return (kNormalizes ? position - slot : position) < length;
  }
  // The row of a new token in the input.
  __device__ __forceinline__ const u8* row_of(int position) const {
    return p.k + (last_row - (length - 1 - position)) * p.k_stride + head * kRowBytes;
  }
  __device__ __forceinline__ int element(int run) const { return first_of_run<kSpan>(lane, run); }
  // Where the thread keeps eight elements of its token in a round.
  __device__ __forceinline__ u32 values(int round, int run) const {
    const int thread = static_cast<int>(threadIdx.x);
    return shared + kValues + 16 * ((2 * round + run) * kThreads + thread);
  }
  __device__ __forceinline__ Sixteen values_of(int round) const {
    Sixteen own;
    own.set_8(0, load_shared_16(values(round, 0)));
    own.set_8(1, load_shared_16(values(round, 1)));
    return own;
  }
  __device__ __forceinline__ void keep_values(int round, const Sixteen& own) const {
    store_shared_16(values(round, 0), own.get_8(0));
    store_shared_16(values(round, 1), own.get_8(1));
  }

  // Sends for the block's tokens, as they come, all of them.
  __device__ __forceinline__ void fetch(int begin) const {
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      if (!has_row(round)) continue;
      const int position = begin + round * kSlots + slot;
      const u8* row =
          position < first_new ? window + (position - begin) * kRowBytes : row_of(position);
#pragma unroll
      for (int run = 0; run < 2; ++run) {
        const u8* from = row + 2 * element(run);
        if constexpr (Config::value.async_copies) {
          copy_async_16(values(round, run), from, true);
        } else {
          store_shared_16(values(round, run), load_global_16_coherent(from));
        }
      }
    }
    if constexpr (Config::value.async_copies) copy_async_commit();
  }

  // The factor by which a row is normalised. All lanes of the warp call it.
  __device__ __forceinline__ float norm_factor(const Sixteen& row) const {
    float x[16];
    row.template widen<Value>(x);
    return head_norm_factor<Config>(x);
  }

  // Rounded to the type that the window has. `factor`: of the norm.
  __device__ __forceinline__ void turn(int position, float factor, Sixteen& own) const {
    if constexpr (kRotate || kNormalizes) {
      Turn<Config, kSpan> rotations;
      if constexpr (kRotate) rotations.find(p, position, lane);
      float x[16];
      own.template widen<Value>(x);
      if constexpr (kNormalizes) weights.apply(factor, x);
      if constexpr (kRotate) rotations.apply(lane, x, x);
#pragma unroll
      for (int i = 0; i < 8; ++i) own.pairs[i] = Value::from_floats(x[2 * i], x[2 * i + 1]);
    }
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
