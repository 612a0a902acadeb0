// Rows of K or of V, each quantised by itself or with the other heads of its token, or rows of Q.
//
// kLanes lanes take a token, two runs of eight elements each of one head after the other, so that
// the token's place and its rotations are found once. The rows of the next kStages heads are on
// their way to shared memory, each thread's to places of its own, while one is turned into codes:
// they come before the way through offsets, lengths and block table, which takes longer than they
// do. Few tokens have several thread blocks, which share the heads.
#pragma once

#include "kv_append/head_norm.cuh"
#include "kv_append/row_store.cuh"
#include "kv_append/tensors.cuh"
#include "kv_append/turn.cuh"

namespace heddle {

template <class Config, class Tensor, bool kRotate>
struct AppendRows {
  using Value = typename Config::Value;
  using Encode = KvEncode<Tensor>;
  static constexpr bool kToken = Tensor::value.granularity == KvGranularity::kToken;
  static constexpr bool kGroups = Tensor::value.granularity == KvGranularity::kGroup;
  static constexpr bool kDynamic =
      kToken || kGroups || Tensor::value.granularity == KvGranularity::kHead;
  static constexpr int kGroup = kGroups ? Tensor::value.group_size : Config::value.head_dim;

  // Values of the cache's own type that do not change stay as they are, bit for bit.
  static constexpr bool kNormalizes = Tensor::kNormalizes;
  static constexpr bool kChanges = kRotate || kNormalizes;
  static constexpr bool kCopy = Tensor::value.is_16_bit && Tensor::value.of_input && !kChanges;

  static constexpr int kSpan = Config::value.span_of(Tensor::value, kRotate);
  static constexpr bool kInHalves = kGroups && kSpan != 0 && kSpan / 2 % kGroup == 0;
  static constexpr int kScales = kInHalves ? 2 : 1;  // of a lane
  using Rotations = Turn<Config, kSpan>;
  static constexpr bool kPartners = kRotate && !Rotations::kOwnPairs;

  static constexpr int kThreads = Config::value.threads();
  static constexpr int kStageBytes = Config::value.stage_bytes();
  static constexpr int kRanges = Config::value.token_ranges_offset();

  // The block takes part `part` of `parts` of the heads.
  __device__ __forceinline__ AppendRows(const KvAppendParameters& p, const KvTensorPointers& cache,
                                        u32 shared, int tile, int part, int parts)
      : p_(p), cache_(cache), shared_(shared) {
    const int thread = static_cast<int>(threadIdx.x);
    const int slot = thread / Config::value.lanes;
    const bool in_block = slot < Config::value.tokens * Config::value.slots;
    lane_ = thread % Config::value.lanes;
    // Threads beyond the last token look at that one, and write nothing.
    token_in_block_ = in_block ? slot / Config::value.slots : Config::value.tokens - 1;
    token_ = tile * Config::value.tokens + token_in_block_;
    constexpr int kSlots = Config::value.slots;
    // With several slots a block has all heads of K and of V.
    const bool in_slots = kSlots > 1 && !Tensor::kQuery;
    first_head_ = in_slots ? slot % kSlots : kSlots * part + slot % kSlots;
    head_step_ = in_slots ? kSlots : kSlots * parts;
    has_values_ = in_block && token_ < p.tokens && 16 * lane_ < Config::value.head_dim;
  }

  // `weights`: of the norm.
  __device__ __forceinline__ void run(const u8* input, i64 stride, const u8* weights) {
    const i64 step = head_step_ * (2 * Config::value.head_dim);
    const u8* next =
        input + token_ * stride + 2 * (first_head_ * Config::value.head_dim + element(0));
#pragma unroll
    for (int stage = 0; stage < Config::value.stages; ++stage, next += step)
      fetch(next, first_head_ + stage * head_step_, stage);
    if constexpr (kNormalizes) load_weights(weights);
    if constexpr (Tensor::value.given_factor)
      factor_ = float_from_bits(load_global_4_l2(cache_.given));
    if constexpr (!kDynamic && !Tensor::value.is_16_bit) given_ = Encode::given_scale(cache_.given);
    place_ = find_place<Config, Tensor::kQuery>(p_, token_ - token_in_block_, token_);
    if constexpr (Config::value.rope_table) {
      place_.inside = place_.inside && place_.position < p_.rotation_rows;
    }
    if constexpr (kRotate) rotations_.find(p_, place_.position, lane_);

    KvRange range[kScales];
    if constexpr (kToken) find_range_of_token(range);
    RowStore<Config, Tensor> to(cache_, place_, p_.page_tokens, first_head_, element(0));
    int stage = 0;
#pragma unroll 1
    for (int heads = 0; heads < Tensor::kHeads; heads += head_step_) {
      const int head = first_head_ + heads;
      if constexpr (Config::value.async_copies) copy_async_wait<Config::value.stages - 1>();
      const Sixteen row = fetched(stage);
      float x[16];
      turn(row, x);
      if constexpr (kDynamic && !kToken) {
#pragma unroll
        for (int s = 0; s < kScales; ++s) range[s] = KvRange{};
        add(row, x, range);
        reduce(range);
      }
      fetch(next, head + Config::value.stages * head_step_, stage);
      next += step;
      stage = stage + 1 == Config::value.stages ? 0 : stage + 1;
      store(to, row, range, x, head);
      to.advance(head_step_);
    }
  }

 private:
  __device__ __forceinline__ int element(int run) const { return first_of_run<kSpan>(lane_, run); }
  // Elements from one run to the other.
  __device__ __forceinline__ int apart() const { return in_span<kSpan>(lane_) ? kSpan / 2 : 8; }
  __device__ __forceinline__ bool has_row(int head) const {
    return has_values_ && head < Tensor::kHeads;
  }

  // Where the thread has a run of a row.
  __device__ __forceinline__ u32 staged(int stage, int run) const {
    const int thread = static_cast<int>(threadIdx.x);
    return shared_ + stage * kStageBytes + 16 * (run * kThreads + thread);
  }
  // Sends for its elements of a row, the first of which is at `from`.
  __device__ __forceinline__ void fetch(const u8* from, int head, int stage) const {
    if (has_row(head)) {
#pragma unroll
      for (int run = 0; run < 2; ++run) {
        const u8* const eight = from + run * 2 * apart();
        if constexpr (Config::value.async_copies) {
          copy_async_16(staged(stage, run), eight, true);
        } else {
          store_shared_16(staged(stage, run), load_global_16_coherent(eight));
        }
      }
    }
    if constexpr (Config::value.async_copies) copy_async_commit();
  }
  __device__ __forceinline__ Sixteen fetched(int stage) const {
    Sixteen row;
    row.set_8(0, load_shared_16(staged(stage, 0)));
    row.set_8(1, load_shared_16(staged(stage, 1)));
    // Lanes behind the end of the row count as zeros.
    if (16 * Config::value.lanes != Config::value.head_dim && !has_values_) row = {};
    return row;
  }

  // The norm's weights of the lane's elements and of what they turn with; none behind the row.
  __device__ __forceinline__ void load_weights(const u8* weights) {
    if (16 * lane_ >= Config::value.head_dim) return;
    weights_.load(weights, element(0), element(1));
    if constexpr (kPartners) partner_weights_.load(weights, partner(0), partner(1));
  }

  // A row, or what it becomes in the norm and turns to. All lanes of the warp call it.
  __device__ __forceinline__ void turn(const Sixteen& row, float (&x)[16]) const {
    row.template widen<Value>(x);
    float factor = 1.0f;
    if constexpr (kNormalizes) {
      factor = head_norm_factor<Config>(x);
      weights_.apply(factor, x);
    }
    if constexpr (kPartners) {
      float y[16];
      partners_of(row).template widen<Value>(y);
      if constexpr (kNormalizes) partner_weights_.apply(factor, y);
      rotations_.apply(lane_, y, x);
    } else if constexpr (kRotate) {
      rotations_.apply(lane_, x, x);
    }
  }
  // The first element that a run turns with; the run itself where it does not turn.
  __device__ __forceinline__ int partner(int run) const {
    const int first = element(run);
    return Rotations::turns(first) ? neox_partner<Config>(first) : first;
  }
  // Gets the partners from the lanes that hold them.
  __device__ __forceinline__ Sixteen partners_of(const Sixteen& row) const {
    const int first_lane = static_cast<int>(threadIdx.x) % 32 - lane_;
    Sixteen partners;
#pragma unroll
    for (int run = 0; run < 2; ++run) {
      const int from = partner(run);
      const int lane = first_lane + from / 16;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const u32 low = broadcast(row.pairs[i], lane);
        const u32 high = broadcast(row.pairs[i + 4], lane);
        partners.pairs[4 * run + i] = from % 16 == 0 ? low : high;
      }
    }
    return partners;
  }

  // Adds a row to the ranges: `row` is as it was loaded, x what it has become.
  __device__ __forceinline__ void add(const Sixteen& row, const float (&x)[16],
                                      KvRange (&range)[kScales]) const {
    constexpr int kCount = 16 / kScales;
#pragma unroll
    for (int s = 0; s < kScales; ++s) {
      if constexpr (kChanges) {
#pragma unroll
        for (int i = s * kCount; i < (s + 1) * kCount; ++i) range[s].template add<Tensor>(x[i]);
      } else {
        range[s].template add_pairs<Tensor, Value, kCount / 2>(row.pairs + s * kCount / 2);
      }
    }
  }

  // Widens a range to that of all lanes that share a scale.
  __device__ __forceinline__ void reduce(KvRange (&range)[kScales]) const {
    if constexpr (kScales == 1) {
      range[0].template reduce<Tensor, kGroups ? kGroup / 16 : Config::value.lanes>();
    } else {
#pragma unroll
      for (int mask = 1; mask < kGroup / 8; mask *= 2) {
        KvRange other[2] = {range[0], range[1]};
        other[0].template exchange<Tensor>(mask);
        other[1].template exchange<Tensor>(mask);
        // After the span a lane has 16 neighbouring elements of one group: its runs meet last.
        if (mask == kGroup / 16 && !in_span<kSpan>(lane_)) {
          other[0] = range[1];
          other[1] = range[0];
        }
        range[0].template add_range<Tensor>(other[0]);
        range[1].template add_range<Tensor>(other[1]);
      }
    }
  }

  // Finds the range over all heads of the token, whose rows are all in the thread's stages.
  __device__ __forceinline__ void find_range_of_token(KvRange (&range)[kScales]) const {
    static_assert(Config::value.stages * Config::value.slots >= Config::value.heads,
                  "a block has all heads");
    const u32 entry = shared_ + kRanges + kTokenRangeBytes * token_in_block_;
    if (lane_ == 0 && first_head_ == 0) {
      store_shared_4(entry, 0);
      store_shared_4(entry + 4, 0);
    }
    block_barrier();
    if constexpr (Config::value.async_copies) copy_async_wait<0>();
#pragma unroll
    for (int stage = 0; stage < Config::value.stages; ++stage) {
      const bool is_there = has_row(first_head_ + stage * head_step_);
      // Lanes whose row is not there take part in a norm, too.
      if (!kNormalizes && !is_there) continue;
      const Sixteen row = fetched(stage);
      float x[16];
      turn(row, x);
      if (is_there) add(row, x, range);
    }
    reduce(range);
    if (lane_ == 0) range[0].give(entry);
    block_barrier();
    range[0].take(entry);
  }

  __device__ __forceinline__ void store(const RowStore<Config, Tensor>& to, const Sixteen& row,
                                        const KvRange (&range)[kScales], float (&x)[16],
                                        int head) const {
    const bool is_wanted = has_row(head) && place_.inside;
    if constexpr (Tensor::value.is_16_bit) {
      u32 words[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        words[i] = kCopy ? row.pairs[i] : Tensor::Stored::from_floats(x[2 * i], x[2 * i + 1]);
      }
      if (is_wanted) to.template store_codes<kSpan != 0>(apart(), words);
    } else {
      KvScale scale[kScales];
#pragma unroll
      for (int s = 0; s < kScales; ++s) {
        scale[s] = kDynamic ? Encode::scale_of(range[s], factor_) : given_;
      }
      u32 words[Encode::kWords];
      Encode::template codes<kScales>(range, scale, x, words);
      if (!is_wanted) return;
      to.template store_codes<kSpan != 0>(apart(), words);
      if constexpr (kDynamic) {
#pragma unroll
        for (int s = 0; s < kScales; ++s) {
          if (s == 1 && !in_span<kSpan>(lane_)) continue;  // of the same group as the first run
          if (element(s) % kGroup != 0 || (kToken && head != 0)) continue;
          to.store_scale(s * apart() / kGroup, scale[s]);
        }
      }
    }
  }

  const KvAppendParameters& p_;
  const KvTensorPointers& cache_;
  u32 shared_;
  int lane_;
  int token_in_block_;
  int token_;
  int first_head_;
  int head_step_;
  bool has_values_;
  Place place_{};
  Rotations rotations_;
  HeadWeights<Config> weights_;
  HeadWeights<Config> partner_weights_;  // of what turns with the lane's elements
  float factor_ = 1.0f;
  KvScale given_{};
};

}  // namespace heddle
