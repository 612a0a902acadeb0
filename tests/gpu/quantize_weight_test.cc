// quantize_weight on the GPU, byte for byte against quantize_weights() and pack_weights() on the
// host. Skips where there is no GPU.
#include <gtest/gtest.h>

#include "tests/gpu/operation_fixture.h"

namespace heddle {
namespace {

class QuantizeWeightGpu : public WeightOpGpu {
 protected:
  void add(const WeightOpSpec& spec) { add_both(Op::kQuantizeWeight, spec); }
};

WeightOpSpec quantize_spec(std::int64_t n, std::int64_t k, int group) {
  WeightOpSpec spec;
  spec.shape = {n, k};
  spec.weight.group_size = group;
  return spec;
}

constexpr DType kQuantizeScales[] = {DType::kFp16, DType::kBf16, DType::kFp32, DType::kE8m0,
                                     DType::kE4m3};

TEST_F(QuantizeWeightGpu, EveryIntegerAndScale) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        if (bits == 1 && zero == ZeroPoint::kNone) continue;
        for (const DType scale : kQuantizeScales) {
          WeightOpSpec spec = quantize_spec(264, 1056, 32);
          spec.weight.bits = bits;
          spec.weight.type = type;
          spec.weight.zero_point = zero;
          spec.weight.scale_dtype = scale;
          add(spec);
        }
      }
    }
  }
}

TEST_F(QuantizeWeightGpu, EveryFloatAndScale) {
  for (const auto& [type, bits] : {std::pair{WeightType::kE4m3, 8},
                                   {WeightType::kE5m2, 8},
                                   {WeightType::kE2m3, 6},
                                   {WeightType::kE3m2, 6},
                                   {WeightType::kE2m1, 4}}) {
    for (const DType scale : kQuantizeScales) {
      for (const int group : {32, kPerChannel}) {
        WeightOpSpec spec = quantize_spec(264, 1056, group);
        spec.weight.type = type;
        spec.weight.bits = bits;
        spec.weight.scale_dtype = scale;
        add(spec);
      }
    }
  }
}

// Groups of a part of a chunk, of chunks, of neither, and of all of K.
TEST_F(QuantizeWeightGpu, EveryGroup) {
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
    for (const int group : {16, 32, 48, 64, 96, 128, 160, 256, 384, 640, 1920, 3840, kPerChannel}) {
      WeightOpSpec spec = quantize_spec(72, 3840, group);
      spec.weight.zero_point = zero;
      add(spec);
    }
  }
}

TEST_F(QuantizeWeightGpu, RaggedShapes) {
  for (const std::int64_t n : {8, 16, 24, 1032}) {
    for (const std::int64_t k : {32, 96, 160, 480, 1056}) {
      add(quantize_spec(n, k, 32));
      add(quantize_spec(n, k, kPerChannel));
    }
  }
}

TEST_F(QuantizeWeightGpu, GatesAndUps) {
  for (const std::int64_t n : {16, 48, 1040}) {
    for (const int group : {32, 96, kPerChannel}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        WeightOpSpec spec = quantize_spec(n, 480, group);
        spec.weight.zero_point = zero;
        spec.gated = true;
        add(spec);
      }
    }
  }
}

TEST_F(QuantizeWeightGpu, EveryInterleave) {
  for (const Interleave interleave :
       {Interleave::kLinear, Interleave::kAwq, Interleave::kEvenOdd, Interleave::kTrtllm}) {
    WeightOpSpec spec = quantize_spec(72, 416, 32);
    spec.weight.interleave = interleave;
    add(spec);
  }
}

}  // namespace
}  // namespace heddle
