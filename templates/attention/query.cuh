// Q as the B operand of S^T = K Q^T, in the order in which K's elements are decoded. A lane's rows
// are columns 2t and 2t+1 of every tile of 8.
#pragma once

#include "attention/mask.cuh"
#include "primitives/mma.cuh"

namespace heddle {

__device__ __forceinline__ float warp_max(float x) {
  x = larger(x, shuffle_xor(x, 1));
  x = larger(x, shuffle_xor(x, 2));
  x = larger(x, shuffle_xor(x, 4));
  x = larger(x, shuffle_xor(x, 8));
  return larger(x, shuffle_xor(x, 16));
}

// The scale and zero point of K or V as a whole, where there is one.
struct TensorScale {
  float scale = 1.0f;
  float zero = 0.0f;
};

template <class A, class B>
struct IsSame {
  static constexpr bool value = false;
};
template <class A>
struct IsSame<A, A> {
  static constexpr bool value = true;
};

// Reads rows, cache (Key), logits and places of S.
template <class S>
struct AttentionQuery {
  using Key = typename S::Key;
  using Codes = typename Key::Codes;
  using Element = typename S::Element;
  // Pairs of elements that a lane has of a row, of a word, and of a vector (KvTensorShape).
  static constexpr int kPairs = S::kKeyDim / 8;
  static constexpr int kWordPairs = 16 / Codes::kBits;
  static constexpr int kVectorPairs = Key::kVectorBytes / 4 * kWordPairs;
  static constexpr int kLoadPairs = kVectorPairs % 4 == 0 ? 4 : 1;
  static constexpr int kSums = Codes::kInteger ? Key::kGroups : 0;
  // A word of the code that means zero.
  static constexpr u32 kMiddle = Key::kZeros ? 1 : Codes::kMiddle;
  static constexpr u32 kMiddleWord = kMiddle * (0xffffffffu / ((1u << Codes::kBits) - 1));
  // The largest element of Q gets exponent kLargestExponent, unless it is at least
  // 2^kLeastExponent: then 14 bits of FP16 remain below it, also of elements that are divided by a
  // power of two because their codes lie in higher bits than others.
  static constexpr int kLargestExponent = 13;
  static constexpr int kLeastExponent = !Codes::kInteger || Codes::kBits == 8 ? -11
                                        : Codes::kBits == 4                   ? -7
                                                                              : -3;
  // Q is multiplied as it is if it has the type of K's decoded codes, no scales are multiplied into
  // it, and all codes lie in the same bits of their words.
  static constexpr bool kAsItIs = IsSame<typename Codes::Value, Element>::value &&
                                  (!Codes::kInteger || Codes::kBits == 8) && !Key::kScalesQuery;

  u32 pairs[S::kRowTiles][kPairs];
  u32 address;  // S::kQueryInShared: of the lane's pairs in shared memory
  // The sums of Q's elements of a group. Without zero points they are multiplied by the code that
  // means zero; they are also multiplied by the factor that decoding leaves in a code.
  float sums[kSums > 0 ? kSums : 1][S::kRowTiles][2];
  float factor;  // of logits: 1 / sqrt(scale_dim) * log2(e), and what Q was divided by

  // The B operand of one MMA instruction: pairs `pair` and `pair` + 1 of row tile n.
  __device__ __forceinline__ void operand(int n, int pair, u32 (&b)[2]) const {
    if constexpr (S::kQueryInShared) {
      const u64 both = load_shared_8(address + (n * kPairs + pair) * 128);
      b[0] = static_cast<u32>(both);
      b[1] = static_cast<u32>(both >> 32);
    } else {
      b[0] = pairs[n][pair];
      b[1] = pairs[n][pair + 1];
    }
  }

  __device__ __forceinline__ void set_operand(int n, int pair, const u32 (&b)[2]) {
    if constexpr (S::kQueryInShared) {
      store_shared_4(address + (n * kPairs + pair) * 128, b[0]);
      store_shared_4(address + (n * kPairs + pair) * 128 + 4, b[1]);
    } else {
      pairs[n][pair] = b[0];
      pairs[n][pair + 1] = b[1];
    }
  }

  // Row g of row tile n of the block in memory; null where it is no query.
  static __device__ __forceinline__ const u8* row_of(const AttentionParameters& arguments,
                                                     const KvSplit& split, int n, int g) {
    constexpr int kBytes = 2 * S::kKeyDim;  // of a query
    const int head = S::kv_head(split.work_head);
    const int row = S::first_row(split.work_head) + kQueryTile * n + g;
    if (S::kRows % kQueryTile != 0 && row >= S::kRows) return nullptr;
    return arguments.q + static_cast<i64>(split.sequence) * (S::kQueries * kBytes) +
           head * (S::kGroup * kBytes) + S::query_of_row(row) * kBytes;
  }

  // Starts the loads of a split's Q. Call it before the copies of tiles, which Q would wait behind.
  __device__ __forceinline__ void request(const AttentionParameters& arguments,
                                          const KvSplit& split, int g, int t) {
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
      const u8* from = row_of(arguments, split, n, g);
      const bool valid = from != nullptr;
#pragma unroll
      for (int i = 0; i < kPairs; i += kLoadPairs) {
        // Vector i / kVectorPairs of the lane.
        const int vector = t + 4 * (i / kVectorPairs);
        const u8* at = from + 4 * (vector * kVectorPairs + i % kVectorPairs);
        if constexpr (kLoadPairs == 4) {
          const u32x4 v = valid ? load_global_16_coherent(at) : u32x4{0, 0, 0, 0};
          pairs[n][i] = v.x, pairs[n][i + 1] = v.y, pairs[n][i + 2] = v.z, pairs[n][i + 3] = v.w;
        } else {
          pairs[n][i] = valid ? load_global_4_l2(at) : 0;
        }
      }
    }
  }

  // Makes operands of what request() has loaded. Every lane of the warp calls it. `room`:
  // S::kQueryBytes of the warp's own.
  __device__ __forceinline__ void prepare(u32 room, int g, int t) {
    if constexpr (kAsItIs) {
      factor = logit_factor() * float_from_bits((127 - Codes::kExponent) << 23);
    } else {
      normalise();
    }
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int i = 0; i < kPairs; i += kWordPairs)
        Codes::order_query(*reinterpret_cast<u32(*)[kWordPairs]>(&pairs[n][i]));
    }
    if constexpr (!Key::kScalesQuery) add_up();
    if constexpr (S::kQueryInShared) {
      address = room + 8 * (4 * g + t);
#pragma unroll
      for (int i = 0; i < S::kRowTiles * kPairs; ++i)
        store_shared_4(address + i / 2 * 256 + i % 2 * 4, pairs[i / kPairs][i % kPairs]);
    }
  }

  // The product of Q and K times this is the logit, in the form that Softcap takes.
  static __device__ __forceinline__ float logit_factor() {
    return kLog2E * Softcap<S::kSoftcap>::kFactor / sqrtf(static_cast<float>(S::kScaleDim));
  }
  static __device__ __forceinline__ float finite_max(float most, float value) {
    const float size = float_from_bits(bits_of_float(value) & 0x7fffffffu);
    return size < float_from_bits(0x7f800000u) ? larger(most, size) : most;
  }

 private:
  // Converts Q to FP16, times a power of two that all rows of the warp share: mostly one, which
  // takes no search. The product with K's scales needs the same largest exponent of every Q.
  __device__ __forceinline__ void normalise() {
    int up = 0;
    if (Key::kScalesQuery || any_lane(!is_fine())) up = kLargestExponent - largest_exponent();
    if constexpr (IsSame<Fp16, Element>::value) {
      multiply_twice(up);
    } else {
      factor = logit_factor() * float_from_bits((127 - up - Codes::kExponent) << 23);
      const float times = float_from_bits((127 + up) << 23);
#pragma unroll
      for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
        for (int i = 0; i < kPairs; ++i)
          pairs[n][i] = Fp16::from_floats(Element::low_to_float(pairs[n][i]) * times,
                                          Element::high_to_float(pairs[n][i]) * times);
      }
    }
  }
  // The power of two that makes FP16's smallest numbers large is none of FP16's: two factors.
  __device__ __forceinline__ void multiply_twice(int up) {
    constexpr int kMost = 15;
    const int first = up < kMost ? up : kMost;
    const int second = up - first < kMost ? up - first : kMost;
    factor = logit_factor() * float_from_bits((127 - first - second - Codes::kExponent) << 23);
    const u32 times = Fp16::kOnes + first * Fp16::kExponentUnits;
    const u32 times_too = Fp16::kOnes + second * Fp16::kExponentUnits;
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int i = 0; i < kPairs; ++i)
        pairs[n][i] = Fp16::mul2(Fp16::mul2(pairs[n][i], times), times_too);
    }
  }
  // Whether the lane's elements of each row are zeros, or need no other power of two.
  __device__ __forceinline__ bool is_fine() const {
    bool fine = true;
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
      u32 most[2] = {0, 0};
#pragma unroll
      for (int i = 0; i < kPairs; ++i)
        most[i % 2] = Element::max2_or_nan(most[i % 2], pairs[n][i] & 0x7fff7fffu);
      const u32 both = Element::max2_or_nan(most[0], most[1]);
      const float top = max_or_nan(Element::low_to_float(both), Element::high_to_float(both));
      fine = fine && (top == 0.0f ||
                      (top >= float_from_bits((127 + kLeastExponent) << 23) && top < 0x1p15f));
    }
    return fine;
  }
  __device__ __forceinline__ int largest_exponent() const {
    float most = 0.0f;
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        most = finite_max(most, Element::low_to_float(pairs[n][i]));
        most = finite_max(most, Element::high_to_float(pairs[n][i]));
      }
    }
    most = warp_max(most);
    const int exponent = static_cast<int>(bits_of_float(most) >> 23) - 127;
    return exponent < -80 ? -80 : exponent > 80 ? 80 : exponent;
  }
  // Adds up Q's elements by the tensor core, with ones in place of K.
  __device__ __forceinline__ void add_up() {
    if constexpr (kSums > 0) {
      u32 zero[kWordPairs];
      Codes::keys(kMiddleWord, zero);
      constexpr int kSteps = S::kKeySteps / kSums;
      // Several accumulators break the chain of dependent instructions before the first tile.
      constexpr int kAccumulators = kSteps % 4 == 0 ? 4 : kSteps % 2 == 0 ? 2 : 1;
#pragma unroll
      for (int group = 0; group < kSums; ++group) {
#pragma unroll
        for (int n = 0; n < S::kRowTiles; ++n) {
          float sum[kAccumulators][4] = {};
#pragma unroll
          for (int i = group * kSteps; i < (group + 1) * kSteps; ++i) {
            const u32 low = zero[2 * i % kWordPairs];
            const u32 high = zero[(2 * i + 1) % kWordPairs];
            const u32 a[4] = {low, low, high, high};
            MmaAmpere::mma16816(Fp16{}, sum[i % kAccumulators], a, pairs[n][2 * i],
                                pairs[n][2 * i + 1]);
          }
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            if constexpr (kAccumulators == 4) sum[0][c] += sum[2][c], sum[1][c] += sum[3][c];
            if constexpr (kAccumulators > 1) sum[0][c] += sum[1][c];
            sums[group][n][c] = sum[0][c];
          }
        }
      }
    }
  }
};

}  // namespace heddle
