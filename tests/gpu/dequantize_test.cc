// Dequantising on the GPU, bit for bit: every format, width, type, order and way of scaling, at
// ragged shapes, with poisoned outputs and guard bands. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "tests/gpu/operation_fixture.h"
#include "tools/gpu_harness/operations/weight_ops/weight_ops.h"

namespace heddle {
namespace {

constexpr DType kOutputs[] = {DType::kFp16, DType::kBf16};
constexpr DType kDequantizeScales[] = {DType::kFp16, DType::kBf16, DType::kFp32, DType::kE8m0,
                                       DType::kE4m3};
constexpr CheckpointFormat kHeddle = CheckpointFormat::kHeddle;
constexpr CheckpointFormat kAwq = CheckpointFormat::kAwq;
constexpr CheckpointFormat kGptq = CheckpointFormat::kGptq;

class DequantizeGpu : public WeightOpGpu {
 protected:
  void add(const WeightOpSpec& spec) { WeightOpGpu::add(Op::kDequantize, spec); }
  // In FP16 and BF16, with scales of the same type.
  void add_both(WeightOpSpec spec) {
    for (const DType dtype : kOutputs) {
      spec.dtype = dtype;
      spec.weight.scale_dtype = dtype;
      add(spec);
    }
  }
  std::uint32_t seed_of(std::size_t) const override { return 1; }
};

WeightOpSpec spec_of(CheckpointFormat format, std::int64_t n, std::int64_t k, int group,
                     ZeroPoint zero) {
  WeightOpSpec spec;
  spec.shape = {n, k};
  spec.format = format;
  spec.weight.group_size = group;
  spec.weight.zero_point = zero;
  return spec;
}

// Shards that begin inside of a group, and end inside of one.
TEST_F(DequantizeGpu, ShardsThatCutTheirFirstGroup) {
  for (const auto& [group, offset] :
       {std::pair{128, 96}, {128, 16}, {64, 32}, {32, 16}, {256, 176}, {48, 32}}) {
    for (int bits = 1; bits <= 8; ++bits) {
      WeightOpSpec spec =
          spec_of(kHeddle, 264, 736, group, bits % 2 == 0 ? ZeroPoint::kInt : ZeroPoint::kFloat);
      spec.weight.bits = bits;
      spec.weight.group_offset = offset;
      add_both(spec);
    }
    WeightOpSpec awq = spec_of(kAwq, 264, 736, group, ZeroPoint::kInt);
    awq.weight.group_offset = offset;
    add_both(awq);
    for (const int bits : {2, 3, 4, 8}) {
      WeightOpSpec gptq = spec_of(kGptq, 288, 736, group, ZeroPoint::kInt);
      gptq.weight.bits = bits;
      gptq.weight.group_offset = offset;
      add_both(gptq);
    }
  }
}

TEST_F(DequantizeGpu, PackedWeightsOfEveryWidthGroupAndZeroPoint) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
        const int group = bits % 2 == 0 ? 128 : 16;
        WeightOpSpec spec = spec_of(kHeddle, 264, 640, group, zero);
        spec.weight.bits = bits;
        spec.weight.type = type;
        add_both(spec);
      }
    }
  }
  for (const int group : {16, 32, 48, 64, 96, 128, 192, 384, kPerChannel, kPerTensor}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
      add_both(spec_of(kHeddle, 72, 1152, group, zero));
      WeightOpSpec three = spec_of(kHeddle, 72, 1152, group, zero);
      three.weight.bits = 3;
      add_both(three);
    }
  }
}

// W comes out in the order of the checkpoint: gates, then ups.
TEST_F(DequantizeGpu, GatesAndUps) {
  for (const std::int64_t n : {16, 80, 272}) {
    for (const bool act_order : {false, true}) {
      for (const int bits : {3, 4, 8}) {
        WeightOpSpec spec = spec_of(kHeddle, n, 416, bits == 8 ? kPerChannel : 32, ZeroPoint::kInt);
        spec.weight.bits = bits;
        spec.act_order = act_order;
        spec.gated = true;
        add_both(spec);
      }
    }
  }
}

TEST_F(DequantizeGpu, FloatCodesTablesAndTheirScales) {
  const struct {
    WeightType type;
    int bits;
  } types[] = {{WeightType::kE4m3, 8}, {WeightType::kE5m2, 8}, {WeightType::kE2m3, 6},
               {WeightType::kE3m2, 6}, {WeightType::kE2m1, 4}, {WeightType::kNf4, 4},
               {WeightType::kUint, 4}};
  for (const auto& [type, bits] : types) {
    for (const DType scale : kDequantizeScales) {
      for (const DType dtype : kOutputs) {
        for (const bool tensor_scale : {false, true}) {
          WeightOpSpec spec =
              spec_of(kHeddle, 136, 352, scale == DType::kE8m0 ? 32 : 16, ZeroPoint::kNone);
          spec.weight.type = type;
          spec.weight.bits = bits;
          spec.weight.scale_dtype = scale;
          spec.weight.tensor_scale = tensor_scale;
          spec.dtype = dtype;
          add(spec);
        }
      }
    }
  }
}

TEST_F(DequantizeGpu, FloatZeroPointsOfEveryType) {
  for (const DType scale : {DType::kFp16, DType::kBf16, DType::kFp32}) {
    for (const DType dtype : kOutputs) {
      for (const bool tensor_scale : {false, true}) {
        WeightOpSpec spec = spec_of(kHeddle, 136, 352, 32, ZeroPoint::kFloat);
        spec.weight.scale_dtype = scale;
        spec.weight.tensor_scale = tensor_scale;
        spec.dtype = dtype;
        add(spec);
      }
    }
  }
}

TEST_F(DequantizeGpu, EveryInterleave) {
  for (const Interleave interleave : {Interleave::kLinear, Interleave::kAwq, Interleave::kEvenOdd,
                                      Interleave::kTrtllm, Interleave::kPermutation}) {
    for (const int bits : {4, 8}) {
      if (interleave == Interleave::kAwq && bits != 4) continue;
      for (const bool act_order : {false, true}) {
        WeightOpSpec spec = spec_of(kHeddle, 88, 416, 32, ZeroPoint::kInt);
        spec.weight.bits = bits;
        spec.weight.interleave = interleave;
        spec.act_order = act_order;
        for (int i = 0; interleave == Interleave::kPermutation && i < 32 / bits; ++i) {
          spec.weight.permutation.push_back((3 * i + 1) % (32 / bits));
        }
        add_both(spec);
      }
    }
  }
}

TEST_F(DequantizeGpu, GptqOfEveryWidthAndOrder) {
  for (const CheckpointFormat format : {kGptq, CheckpointFormat::kGptqV2}) {
    for (const int bits : {2, 3, 4, 8}) {
      // The second version differs in the zero points only.
      if (format == CheckpointFormat::kGptqV2 && bits != 3 && bits != 4) continue;
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        for (const int group : {16, 48, 128, kPerChannel}) {
          for (const bool act_order : {false, true}) {
            WeightOpSpec spec = spec_of(format, 288, group == 48 ? 1056 : 1280, group, zero);
            spec.weight.bits = bits;
            spec.act_order = act_order;
            add_both(spec);
          }
        }
      }
    }
  }
}

TEST_F(DequantizeGpu, AwqOfEveryGroup) {
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
    for (const int group : {16, 48, 64, 128, kPerChannel}) {
      add_both(spec_of(kAwq, 288, group == 48 ? 1056 : 1280, group, zero));
    }
  }
}

TEST_F(DequantizeGpu, CheckpointsWithScalesOfAnotherType) {
  for (const CheckpointFormat format : {kGptq, kAwq}) {
    for (const DType scale : kDequantizeScales) {
      for (const DType dtype : kOutputs) {
        for (const bool act_order : {false, true}) {
          if (act_order && format == kAwq) continue;
          WeightOpSpec spec = spec_of(format, 264, 416, 32, ZeroPoint::kInt);
          spec.weight.scale_dtype = scale;
          spec.act_order = act_order;
          spec.dtype = dtype;
          add(spec);
        }
      }
    }
  }
}

TEST_F(DequantizeGpu, RaggedShapes) {
  for (const CheckpointFormat format : {kHeddle, kGptq, kAwq}) {
    for (const std::int64_t n : {8, 16, 24, 72, 136, 248, 1032}) {
      for (const std::int64_t k : {32, 64, 96, 160, 416, 768, 1056}) {
        add(spec_of(format, n, k, 32, ZeroPoint::kInt));
      }
    }
  }
}

TEST_F(DequantizeGpu, ShapesOfModels) {
  for (const CheckpointFormat format : {kHeddle, kGptq, kAwq}) {
    add_both(spec_of(format, 6144, 4096, 128, ZeroPoint::kInt));
    add_both(spec_of(format, 3584, 18944, 128, ZeroPoint::kInt));
  }
}

class GoldenGpu : public DequantizeGpu, public testing::WithParamInterface<const char*> {};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::vector<T> values_of(const Checkpoint& checkpoint, const std::string& name) {
  const std::vector<std::uint8_t> bytes = checkpoint.read(name);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_P(GoldenGpu, HasTheExpectedBits) {
  const std::string folder = std::string(HEDDLE_GOLDEN "/") + GetParam();
  const CheckpointConfig config = read_checkpoint_config(text_of(folder + "/config.json"));
  const Checkpoint checkpoint(folder);
  const Checkpoint want(folder + "/expected.safetensors");
  const std::vector<std::int64_t> shape = want.find("model.proj.weight")->shape;

  const Scheme& scheme = *config.quantization.scheme_of("model.proj");
  const bool awq = scheme.storage == Storage::kAwq;
  WeightOpSpec spec = spec_of(awq                        ? kAwq
                              : scheme.zero_is_minus_one ? kGptq
                                                         : CheckpointFormat::kGptqV2,
                              shape[0], shape[1], *scheme.group_size, ZeroPoint::kInt);
  spec.weight.bits = scheme.bits;
  SourceTensors source;
  source.weights = checkpoint.read("model.proj.qweight");
  source.scales = checkpoint.read("model.proj.scales");
  source.zeros = checkpoint.read("model.proj.qzeros");
  if (!awq) {
    source.group_index = values_of<std::int32_t>(checkpoint, "model.proj.g_idx");
    spec.act_order = true;
  }
  const auto expected = values_of<std::uint16_t>(want, "model.proj.weight");
  const auto check = [&] {
    const Spec of = Spec::from_weight_op(Op::kDequantize, spec);
    if (only_makes({of})) return;
    EXPECT_EQ(check_dequantize(runtime().kernel(of), source, expected).fault(), "");
  };
  check();

  // Where the groups are in order, the kernel that takes them for granted gives the same.
  const bool in_order = std::is_sorted(source.group_index.begin(), source.group_index.end());
  if (awq || !in_order) return;
  spec.act_order = false;
  source.group_index.clear();
  check();
}

INSTANTIATE_TEST_SUITE_P(All, GoldenGpu,
                         testing::Values("awq_k128_n64_g32", "awq_k256_n32_g128",
                                         "gptq2_k128_n32_g64", "gptq3_k128_n32_g128",
                                         "gptq4_k128_n32_g32", "gptq4_k256_n32_g128_actorder",
                                         "gptq4_sym_k128_n64_g128", "gptq4v2_k128_n32_g64",
                                         "gptq8_k128_n32_g128"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
