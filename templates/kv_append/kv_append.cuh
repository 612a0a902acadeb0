// Append: K and V of new tokens, rotated, quantised and written into the cache.
//
// Floor: K and V read once, their codes and scales written once. Grid: (tiles of kTokens tokens,
// for K and for V in turn, so that the work of turning K hides behind V's bytes; tiles of
// kHeadsOfBlock heads). kLanes lanes take a row, one head of one token, 16
// elements each, and find its scale among themselves; a thread takes kRows rows of its token, so
// that enough bytes are under way and the place is looked up once. All loads come first: the way
// through offsets, lengths and block table to the place takes as long as they do.
//
// With scales per channel K goes its own way (append_channel.cuh): the grid is then blocks of K's
// tokens for every head, and behind them V's tiles for every tile of heads.
//
// heddle-parameters: kHeads kHeadDim kLanes kTokens kHeadsOfBlock kRows kThreads kSharedBytes kHnd
// heddle-parameters: kAsyncCopies kPaged kPageSize kRope kRopeDim kRopeTable Frequencies Value K V
#pragma once

#include "kv_append/append_channel.cuh"

namespace heddle {

// Shared memory: rotations, then the tokens' positions, then the ranges of all heads of each.
template <class Config>
struct TokenMemory {
  static_assert(Config::kSharedBytes >= Rotations<Config>::kBytes + 12 * Config::kTokens,
                "the launch gives this much shared memory");
  u32 shared;

  __device__ __forceinline__ u32 position(int token) const {
    return shared + Rotations<Config>::kBytes + 4 * token;
  }
  __device__ __forceinline__ u32 range(int token) const {
    return shared + Rotations<Config>::kBytes + 4 * Config::kTokens + 8 * token;
  }
};

// A thread's share: the elements from `element` on of kRows rows of a token.
template <class Config>
struct Share {
  static constexpr int kSlotHeads = Config::kHeadsOfBlock / Config::kRows;
  static_assert(kSlotHeads * Config::kRows == Config::kHeadsOfBlock, "whole rounds over the heads");

  int lane;
  int head;            // of the first row; the others follow at distances of kSlotHeads
  int token_in_block;  // threads beyond the last token look at that one, and write nothing
  int token;
  int element;
  bool has_token;
  bool has_values;

  // `tile`: of tokens, `heads`: of heads.
  __device__ __forceinline__ Share(int tokens, int tile, int heads) {
    const int thread = static_cast<int>(threadIdx.x);
    const int slot = thread / Config::kLanes;
    const bool in_block = slot < Config::kTokens * kSlotHeads;
    lane = thread % Config::kLanes;
    head = heads * Config::kHeadsOfBlock + slot % kSlotHeads;
    token_in_block = in_block ? slot / kSlotHeads : Config::kTokens - 1;
    token = tile * Config::kTokens + token_in_block;
    element = 16 * lane;
    has_token = in_block && token < tokens;
    has_values = has_token && element < Config::kHeadDim;
  }
  __device__ __forceinline__ int head_of(int row) const { return head + row * kSlotHeads; }
  __device__ __forceinline__ bool has_row(int row) const {
    return has_values &&
           (Config::kHeads % Config::kHeadsOfBlock == 0 || head_of(row) < Config::kHeads);
  }
  // One thread of each token.
  __device__ __forceinline__ bool leads_token() const {
    return has_values && lane == 0 && head % Config::kHeadsOfBlock == 0;
  }
};

// Codes and scales of one row.
template <class Config, class Tensor>
struct RowStore {
  static constexpr bool kToken = Tensor::kGranularity == KvGranularity::kToken;
  static constexpr int kGroup =
      Tensor::kGranularity == KvGranularity::kGroup ? Tensor::kGroupSize : Config::kHeadDim;
  static constexpr int kScaleStep = Tensor::kScaleRowBytes / (Config::kHeadDim / kGroup);

  const KvTensorPointers& cache;
  const Place& place;
  int page_tokens;

  template <int kWords>
  __device__ __forceinline__ void codes(int head, int element, const u32 (&words)[kWords]) const {
    const i64 row = rows_before<Config>(Config::kHeads, place, head, page_tokens);
    store_words(cache.codes + row * Tensor::kRowBytes + element * Tensor::kBits / 8, words);
  }
  __device__ __forceinline__ void scale(int head, int element, const KvScale& scale) const {
    if (element % kGroup != 0 || (kToken && head != 0)) return;
    const i64 row = rows_before<Config>(Tensor::kScaleHeads, place, head, page_tokens);
    KvEncode<Tensor>::store_scale(
        cache.scales + row * Tensor::kScaleRowBytes + element / kGroup * kScaleStep, scale);
  }
};

template <class Config, class Tensor, bool kRotate>
__device__ __forceinline__ void append(const KvAppendParameters& p, const u8* input, i64 stride,
                                       const KvTensorPointers& cache, u32 shared, int tile,
                                       int heads) {
  using Value = typename Config::Value;
  using Encode = KvEncode<Tensor>;
  constexpr int kRows = Config::kRows;
  constexpr bool kToken = Tensor::kGranularity == KvGranularity::kToken;
  constexpr bool kDynamic = kToken || Tensor::kGranularity == KvGranularity::kHead ||
                            Tensor::kGranularity == KvGranularity::kGroup;
  const TokenMemory<Config> memory{shared};
  const Rotations<Config> rotations{shared};
  const Share<Config> mine(p.tokens, tile, heads);

  Sixteen own[kRows] = {};
  Sixteen partners[kRows] = {};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (!mine.has_row(r)) continue;
    const u8* row = input + mine.token * stride + mine.head_of(r) * Config::kHeadDim * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int first = mine.element + 8 * half;
      own[r].load_8(half, row + 2 * first);
      if (kRotate && Config::kRope == RopePairing::kNeox && first < Config::kRopeDim) {
        partners[r].load_8(half, row + 2 * neox_partner<Config>(first));
      }
    }
  }
  float factor = 1.0f;
  if constexpr (Tensor::kGivenFactor) factor = float_from_bits(load_global_4(cache.given));
  Place place = find_place<Config>(p, mine.token - mine.token_in_block, mine.token);
  if constexpr (Config::kRopeTable) {
    place.inside = place.inside && place.position < p.rotation_rows;
  }

  if constexpr (kRotate || kToken) {
    if (mine.leads_token()) {
      store_shared_4(memory.position(mine.token_in_block), static_cast<u32>(place.position));
      store_shared_4(memory.range(mine.token_in_block), 0);
      store_shared_4(memory.range(mine.token_in_block) + 4, 0);
    }
    block_barrier();
  }
  if constexpr (kRotate) {
    fill_rotations(p, memory.position(0), rotations, Config::kTokens);
    block_barrier();
  }

  float x[kRows][16];
#pragma unroll
  for (int r = 0; r < kRows; ++r) own[r].template widen<Value>(x[r]);
  if constexpr (kRotate) {
    float y[kRows][16];
#pragma unroll
    for (int r = 0; r < kRows; ++r) partners[r].template widen<Value>(y[r]);
    rotate_rows(rotations, mine.token_in_block, mine.element, y, x);
  }

  const RowStore<Config, Tensor> store{cache, place, p.page_tokens};
  if constexpr (Tensor::k16Bit) {
    // Values of the cache's own type that are not turned stay as they are, bit for bit.
    constexpr bool kCopy = !kRotate && Tensor::kOfInput;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      u32 words[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        words[i] =
            kCopy ? own[r].pairs[i] : Tensor::Stored::from_floats(x[r][2 * i], x[r][2 * i + 1]);
      }
      if (mine.has_row(r) && place.inside) store.codes(mine.head_of(r), mine.element, words);
    }
    return;
  } else {
    KvRange range[kRows];
    if constexpr (kDynamic) {
      constexpr int kLanes =
          Tensor::kGranularity == KvGranularity::kGroup ? Tensor::kGroupSize / 16 : Config::kLanes;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if constexpr (kRotate) {
#pragma unroll
          for (int i = 0; i < 16; ++i) range[r].template add<Tensor>(x[r][i]);
        } else {
          range[r].template add_pairs<Tensor, Value>(own[r].pairs);
        }
        range[r].template reduce<Tensor, kLanes>();
      }
    }
    if constexpr (kToken) {
      static_assert(Config::kHeadsOfBlock >= Config::kHeads, "a block sees all heads of a token");
      const u32 entry = memory.range(mine.token_in_block);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (mine.lane == 0 && mine.has_row(r)) range[r].give(entry);
      }
      block_barrier();
#pragma unroll
      for (int r = 0; r < kRows; ++r) range[r].take(entry);
    }
    KvScale scale{};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if constexpr (!kDynamic) {
        if (r == 0) scale = Encode::given_scale(cache.given);
      } else if (!kToken || r == 0) {
        scale = Encode::scale_of(range[r], factor);
      }
      u32 words[Encode::kWords];
      Encode::codes(range[r], scale, x[r], words);
      if (!mine.has_row(r) || !place.inside) continue;
      store.codes(mine.head_of(r), mine.element, words);
      if constexpr (kDynamic) store.scale(mine.head_of(r), mine.element, scale);
    }
  }
}

template <class Config>
__device__ __forceinline__ void kv_append(const KvAppendParameters& p) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  const int block = static_cast<int>(blockIdx.x);
  if constexpr (Config::K::kGranularity == KvGranularity::kChannel) {
    constexpr int kHeadTiles = (Config::kHeads + Config::kHeadsOfBlock - 1) / Config::kHeadsOfBlock;
    const int of_k = channel_units<Config>(p) * Config::kHeads;
    if (block < of_k) {
      append_channel<Config>(p, block / Config::kHeads, block % Config::kHeads, shared);
    } else {
      append<Config, typename Config::V, false>(p, p.v, p.v_stride, p.v_cache, shared,
                                                (block - of_k) / kHeadTiles,
                                                (block - of_k) % kHeadTiles);
    }
  } else if (block % 2 == 0) {
    append<Config, typename Config::K, Config::kRope != RopePairing::kNone>(
        p, p.k, p.k_stride, p.k_cache, shared, block / 2, static_cast<int>(blockIdx.y));
  } else {
    append<Config, typename Config::V, false>(p, p.v, p.v_stride, p.v_cache, shared, block / 2,
                                              static_cast<int>(blockIdx.y));
  }
}

}  // namespace heddle
