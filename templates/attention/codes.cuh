// Codes of a cache to 16-bit floats in the fragments of the tensor cores.
//
// K is read along its rows: a word of codes gives pairs of one token's elements, in whatever order
// is cheapest; Q is put into the same order once. V comes transposed: a register has the codes of
// kDims neighbouring elements of one token in its low half and of the next token in its high half,
// and gives kDims pairs, each of one element of the two tokens.
//
// An integer code is left in place as the bits of an FP16, a subnormal one: the code times 2^-24,
// or 2^n times that where it lies n bits higher. The tensor core multiplies these exactly. Q makes
// good for 2^n; 2^kExponent and the zero point are left to the sums.
#pragma once

#include "attention/config.h"
#include "primitives/bits.cuh"
#include "primitives/half.cuh"

namespace heddle {

// Value: what 16-bit codes are.
template <KvCode kCode, class Value>
struct KvCodes;

struct KvFloatCodes {
  static constexpr bool kInteger = false;
  static constexpr int kExponent = 0;
  static constexpr int kMiddle = 0;
  static constexpr bool kOddHaveEven = false;
  // Q's elements, pair after pair as a word of K is decoded; here as they are.
  template <int kPairs>
  static __device__ __forceinline__ void order_query(u32 (&)[kPairs]) {}
  // The element that keys() puts into the lower or upper half of pair `pair` of a row, and how many
  // bits higher than elsewhere.
  static __device__ __forceinline__ int key_element(int pair, int upper) {
    return 2 * pair + upper;
  }
  static __device__ __forceinline__ int key_shift(int) { return 0; }
  // What values() leaves in the element, beside 2^kExponent.
  static __device__ __forceinline__ float element_factor(int) { return 1.0f; }
};

struct KvIntegerCodes : KvFloatCodes {
  using Value = Fp16;
  static constexpr bool kInteger = true;
  static constexpr int kExponent = -24;
};

template <class V>
struct KvCodes<KvCode::kHalf, V> : KvFloatCodes {
  using Value = V;
  static constexpr int kBits = 16;
  static constexpr int kDims = 1;
  static __device__ __forceinline__ void keys(u32 word, u32 (&pairs)[1]) { pairs[0] = word; }
  static __device__ __forceinline__ void values(u32 word, u32 (&pairs)[1]) { pairs[0] = word; }
};

template <class V>
struct KvCodes<KvCode::kInt8, V> : KvIntegerCodes {
  static constexpr int kBits = 8;
  static constexpr int kDims = 2;
  static constexpr int kMiddle = 128;
  static __device__ __forceinline__ void keys(u32 word, u32 (&pairs)[2]) {
    pairs[0] = prmt<0x4140>(word, 0);
    pairs[1] = prmt<0x4342>(word, 0);
  }
  static __device__ __forceinline__ void values(u32 word, u32 (&pairs)[2]) {
    pairs[0] = word & 0x00ff00ffu;
    pairs[1] = prmt<0x4341>(word, 0);
  }
};

template <class V>
struct KvCodes<KvCode::kInt4, V> : KvIntegerCodes {
  static constexpr int kBits = 4;
  static constexpr int kDims = 4;
  static constexpr int kMiddle = 8;
  // Elements 0 and 4, 1 and 5, 2 and 6, 3 and 7; odd ones 4 bits higher.
  static __device__ __forceinline__ void keys(u32 word, u32 (&pairs)[4]) {
    const u32 upper = prmt<0x4341>(word, 0);
    pairs[0] = word & 0x000f000fu;
    pairs[1] = word & 0x00f000f0u;
    pairs[2] = upper & 0x000f000fu;
    pairs[3] = Fp16::sub2(upper, pairs[2]);  // exact, and not on the pipe of the masks
  }
  static __device__ __forceinline__ int key_element(int pair, int upper) {
    return 8 * (pair / 4) + pair % 4 + 4 * upper;
  }
  static __device__ __forceinline__ int key_shift(int pair) { return 4 * (pair % 2); }
  static __device__ __forceinline__ void order_query(u32 (&q)[4]) {
    constexpr u32 kSixteenth = 0x2c002c00u;
    const u32 a = prmt<0x5410>(q[0], q[2]), b = prmt<0x7632>(q[0], q[2]);
    const u32 c = prmt<0x5410>(q[1], q[3]), d = prmt<0x7632>(q[1], q[3]);
    q[0] = a, q[1] = Fp16::mul2(b, kSixteenth);
    q[2] = c, q[3] = Fp16::mul2(d, kSixteenth);
  }
  // Odd ones with the even one below them, whose sum is subtracted from theirs.
  static constexpr bool kOddHaveEven = true;
  static __device__ __forceinline__ void values(u32 word, u32 (&pairs)[4]) {
    pairs[1] = word & 0x00ff00ffu;
    pairs[3] = prmt<0x4341>(word, 0);
    pairs[0] = word & 0x000f000fu;
    pairs[2] = pairs[3] & 0x000f000fu;
  }
  static __device__ __forceinline__ float element_factor(int i) { return i % 2 ? 0.0625f : 1.0f; }
};

template <class V>
struct KvCodes<KvCode::kInt2, V> : KvIntegerCodes {
  static constexpr int kBits = 2;
  static constexpr int kDims = 8;
  static constexpr int kMiddle = 2;
  // Elements 0 and 8, 1 and 9, ..., 7 and 15, each 2 bits higher than the one before; from element
  // 5 on again from the lowest bit, since only 10 bits are a subnormal FP16's.
  static constexpr int kAgain = 5;
  static __device__ __forceinline__ void keys(u32 word, u32 (&pairs)[8]) {
    const u32 upper = shr<2 * kAgain>(word);
    pairs[0] = word & 0x00030003u;
    pairs[1] = word & 0x000c000cu;
    pairs[2] = word & 0x00300030u;
    pairs[3] = word & 0x00c000c0u;
    pairs[4] = word & 0x03000300u;
    pairs[5] = upper & 0x00030003u;
    pairs[6] = upper & 0x000c000cu;
    pairs[7] = upper & 0x00300030u;
  }
  static __device__ __forceinline__ int key_element(int pair, int upper) {
    return 16 * (pair / 8) + pair % 8 + 8 * upper;
  }
  static __device__ __forceinline__ int key_shift(int pair) { return 2 * (pair % 8 % kAgain); }
  static __device__ __forceinline__ void order_query(u32 (&q)[8]) {
    constexpr u32 kQuarters[kAgain] = {0x3c003c00u, 0x34003400u, 0x2c002c00u, 0x24002400u,
                                       0x1c001c00u};  // 1, 1/4, 1/16, 1/64, 1/256
    u32 ordered[8];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      ordered[2 * i] = prmt<0x5410>(q[i], q[i + 4]);
      ordered[2 * i + 1] = prmt<0x7632>(q[i], q[i + 4]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
      q[i] = i % kAgain == 0 ? ordered[i] : Fp16::mul2(ordered[i], kQuarters[i % kAgain]);
  }
  static __device__ __forceinline__ void values(u32 word, u32 (&pairs)[8]) { keys(word, pairs); }
  static __device__ __forceinline__ float element_factor(int i) {
    return 1.0f / static_cast<float>(1 << (2 * (i % kAgain)));
  }
};

template <class V>
struct KvCodes<KvCode::kE4m3, V> : KvFloatCodes {
  using Value = Fp16;
  static constexpr int kBits = 8;
  static constexpr int kDims = 2;
  static __device__ __forceinline__ void keys(u32 word, u32 (&pairs)[2]) {
    pairs[0] = fp16_from_e4m3(word);
    pairs[1] = fp16_from_e4m3(shr<16>(word));
  }
  static __device__ __forceinline__ void values(u32 word, u32 (&pairs)[2]) {
    keys(prmt<0x3120>(word, 0), pairs);
  }
};

// The upper half of an FP16.
template <class V>
struct KvCodes<KvCode::kE5m2, V> : KvFloatCodes {
  using Value = Fp16;
  static constexpr int kBits = 8;
  static constexpr int kDims = 2;
  static __device__ __forceinline__ void keys(u32 word, u32 (&pairs)[2]) {
    pairs[0] = prmt<0x1404>(word, 0);
    pairs[1] = prmt<0x3424>(word, 0);
  }
  static __device__ __forceinline__ void values(u32 word, u32 (&pairs)[2]) {
    pairs[0] = prmt<0x2404>(word, 0);
    pairs[1] = word & 0xff00ff00u;
  }
};

// Sign, exponent and mantissa in the places of an FP16's sign, lowest exponent bits and highest
// mantissa bit: the value times 2^-14. Times an e4m3 scale it is an FP16, too, exactly.
template <class V>
struct KvCodes<KvCode::kE2m1, V> : KvFloatCodes {
  using Value = Fp16;
  static constexpr int kExponent = -14;
  static constexpr int kBits = 4;
  static constexpr int kDims = 4;
  // Elements 0 and 4, 1 and 5, 2 and 6, 3 and 7.
  static __device__ __forceinline__ void keys(u32 word, u32 (&pairs)[4]) {
    // Upper halves of the FP16 of the even elements and of the odd ones, and other bits where these
    // have zeros.
    const u32 even = sign_or(shl<4>(word), shl<1>(word));
    const u32 odd = sign_or(word, shr<3>(word));
    pairs[0] = shl<8>(even) & kBits16;
    pairs[1] = shl<8>(odd) & kBits16;
    pairs[2] = even & kBits16;
    pairs[3] = odd & kBits16;
  }
  static __device__ __forceinline__ void order_query(u32 (&q)[4]) {
    const u32 a = prmt<0x5410>(q[0], q[2]), b = prmt<0x7632>(q[0], q[2]);
    const u32 c = prmt<0x5410>(q[1], q[3]), d = prmt<0x7632>(q[1], q[3]);
    q[0] = a, q[1] = b, q[2] = c, q[3] = d;
  }
  static __device__ __forceinline__ void values(u32 word, u32 (&pairs)[4]) { keys(word, pairs); }

 private:
  static constexpr u32 kBits16 = 0x8e008e00u;
  // (signs & 0x80808080) | (others & 0x7f7f7f7f)
  static __device__ __forceinline__ u32 sign_or(u32 signs, u32 others) {
    return lop3<0xe4>(signs, others, 0x80808080u);
  }
};

}  // namespace heddle
