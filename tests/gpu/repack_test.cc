// repack on the GPU, byte for byte against the host: every format, width and order, ragged shapes,
// act-order, and known checkpoints. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/forms/integer_layer.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/fused_layer.h"
#include "tests/checkpoint/test_util.h"
#include "tests/gpu/operation_fixture.h"
#include "tools/gpu_harness/operations/weight_ops/weight_ops.h"

namespace heddle {
namespace {

class RepackGpu : public WeightOpGpu {
 protected:
  void add(const WeightOpSpec& spec) { WeightOpGpu::add(Op::kRepack, spec); }
};

WeightOpSpec repack_spec(CheckpointFormat format, int bits, std::int64_t n, std::int64_t k,
                         int group, ZeroPoint zero = ZeroPoint::kInt, DType scale = DType::kFp16) {
  WeightOpSpec spec;
  spec.shape = {n, k};
  spec.format = format;
  spec.weight.bits = bits;
  spec.weight.group_size = group;
  spec.weight.zero_point = zero;
  spec.weight.scale_dtype = scale;
  return spec;
}

struct RepackSource {
  CheckpointFormat format;
  int bits;
};

const RepackSource kSources[] = {
    {CheckpointFormat::kAwq, 4},    {CheckpointFormat::kGptq, 2},   {CheckpointFormat::kGptq, 3},
    {CheckpointFormat::kGptq, 4},   {CheckpointFormat::kGptq, 8},   {CheckpointFormat::kGptqV2, 2},
    {CheckpointFormat::kGptqV2, 3}, {CheckpointFormat::kGptqV2, 4}, {CheckpointFormat::kGptqV2, 8}};

TEST_F(RepackGpu, EveryFormatWidthGroupAndScale) {
  int scale = 0;
  for (const auto& [format, bits] : kSources) {
    for (const int group : {16, 32, 64, 128, 256, kPerChannel}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        constexpr DType kRepackScales[] = {DType::kFp16, DType::kBf16, DType::kFp32};
        add(repack_spec(format, bits, 512, 768, group, zero, kRepackScales[scale++ % 3]));
      }
    }
  }
}

// Shards that begin inside of a group, and end inside of one.
TEST_F(RepackGpu, ShardsThatCutTheirFirstGroup) {
  for (const auto& [format, bits] : kSources) {
    for (const auto& [group, offset] :
         {std::pair{128, 96}, {128, 16}, {64, 32}, {32, 16}, {256, 176}, {48, 32}}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        WeightOpSpec spec = repack_spec(format, bits, 288, 736, group, zero);
        spec.weight.group_offset = offset;
        add(spec);
      }
    }
  }
}

TEST_F(RepackGpu, RaggedShapes) {
  for (const auto& [format, bits] : kSources) {
    for (const std::int64_t n : {32, 288, 1056}) {
      for (const std::int64_t k : {32, 416}) {
        add(repack_spec(format, bits, n, k, 32));
        add(repack_spec(format, bits, n, k, kPerChannel, ZeroPoint::kNone));
      }
    }
  }
  // Fewer rows than zero points fill a word of.
  add(repack_spec(CheckpointFormat::kAwq, 4, 8, 32, 16));
  add(repack_spec(CheckpointFormat::kGptq, 4, 24, 96, 96));
  add(repack_spec(CheckpointFormat::kGptq, 3, 8, 64, 64, ZeroPoint::kNone));
}

TEST_F(RepackGpu, EveryInterleave) {
  std::mt19937 random(17);
  for (const auto& [format, bits] : kSources) {
    for (const Interleave interleave :
         {Interleave::kFragment, Interleave::kLinear, Interleave::kAwq, Interleave::kEvenOdd,
          Interleave::kTrtllm, Interleave::kPermutation}) {
      if (interleave == Interleave::kAwq && bits != 4) continue;
      if (interleave == Interleave::kTrtllm && bits != 4 && bits != 8) continue;
      const bool whole_codes =
          interleave == Interleave::kEvenOdd || interleave == Interleave::kPermutation;
      if (whole_codes && 32 % bits != 0) continue;
      WeightOpSpec spec = repack_spec(format, bits, 288, 416, 32);
      spec.weight.interleave = interleave;
      if (interleave == Interleave::kPermutation) {
        spec.weight.permutation.resize(32 / bits);
        std::iota(spec.weight.permutation.begin(), spec.weight.permutation.end(), 0);
        std::shuffle(spec.weight.permutation.begin(), spec.weight.permutation.end(), random);
      }
      add(spec);
    }
  }
}

TEST_F(RepackGpu, ActOrder) {
  for (const auto& [format, bits] : kSources) {
    if (format == CheckpointFormat::kAwq) continue;
    for (const std::int64_t n : {256, 288}) {
      for (const std::int64_t k : {256, 416}) {
        WeightOpSpec spec = repack_spec(format, bits, n, k, 32);
        spec.act_order = true;
        add(spec);
      }
    }
  }
}

// As many gates as ups, in fewer rows than a tile has and in more.
TEST_F(RepackGpu, GatesAndUps) {
  for (const auto& [format, bits] : kSources) {
    for (const std::int64_t n : {32, 288, 1056}) {
      WeightOpSpec spec = repack_spec(format, bits, n, 416, 32);
      spec.gated = true;
      add(spec);
      if (format != CheckpointFormat::kAwq) {
        spec.act_order = true;
        add(spec);
      }
      spec = repack_spec(format, bits, n, 416, kPerChannel, ZeroPoint::kNone);
      spec.gated = true;
      if (bits == 4) spec.weight.interleave = Interleave::kTrtllm;
      add(spec);
    }
  }
}

TEST_F(RepackGpu, ShapesOfModels) {
  for (const auto& [format, bits] : kSources) {
    add(repack_spec(format, bits, 4096, 11008, 128));
  }
}

// ---- tests/golden

DType dtype_of(const TensorInfo& tensor) {
  return tensor.type == TensorType::kF32    ? DType::kFp32
         : tensor.type == TensorType::kBf16 ? DType::kBf16
                                            : DType::kFp16;
}

class RepackGolden : public OnGpu, public ::testing::WithParamInterface<const char*> {
 protected:
  bool makes_kernels() const override { return true; }
  void SetUp() override {}  // the first part of the test needs no GPU
  void skip_without_gpu() { OnGpu::SetUp(); }
};

// The checkpoint's own tensors, against the importer that `heddle repack` uses.
TEST_P(RepackGolden, GivesTheBytesOfTheImporter) {
  const std::string folder = std::string(HEDDLE_GOLDEN "/") + GetParam();
  const CheckpointConfig config = read_checkpoint_config(read_file(folder + "/config.json"));
  const Checkpoint checkpoint(folder);
  FusedLayer::Parts parts;
  parts.push_back(std::make_unique<IntegerLayer>(
      IntegerLayer::read(checkpoint, {"model.proj", LayerName::Kind::kQweight}, config)));
  const FusedLayer layer("model.proj", std::move(parts), {});

  WeightOpSpec op;
  op.shape = {layer.spec().shape.n, layer.spec().shape.k};
  op.weight = layer.spec().weight;
  const Scheme& scheme = *config.quantization.scheme_of("model.proj");
  op.format = scheme.storage == Storage::kAwq ? CheckpointFormat::kAwq
              : scheme.zero_is_minus_one      ? CheckpointFormat::kGptq
                                              : CheckpointFormat::kGptqV2;
  op.act_order = !layer.permutation().empty();
  EXPECT_EQ(op.weight.scale_dtype, dtype_of(*checkpoint.find("model.proj.scales")));

  SourceTensors tensors;
  tensors.weights = checkpoint.read("model.proj.qweight");
  tensors.scales = checkpoint.read("model.proj.scales");
  if (op.weight.zero_point == ZeroPoint::kInt) {
    tensors.zeros = checkpoint.read("model.proj.qzeros");
  }
  tensors.permutation = layer.permutation();
  // The host's side of all these tests is the importer's; this needs no GPU.
  QuantizedWeights rows;
  layer.rows(0, {{0, op.shape.n}}, &rows);
  EXPECT_EQ(pack_on_host(op, tensors), pack_weights(layer.spec(), rows));
  skip_without_gpu();
  const Spec spec = Spec::from_weight_op(Op::kRepack, op);
  if (IsSkipped() || only_makes({spec})) return;
  EXPECT_EQ(check_repack(runtime().kernel(spec), tensors).fault(), "");
}

INSTANTIATE_TEST_SUITE_P(All, RepackGolden,
                         ::testing::Values("awq_k128_n64_g32", "awq_k256_n32_g128",
                                           "gptq2_k128_n32_g64", "gptq3_k128_n32_g128",
                                           "gptq4_k128_n32_g32", "gptq4_k256_n32_g128_actorder",
                                           "gptq4_sym_k128_n64_g128", "gptq4v2_k128_n32_g64",
                                           "gptq8_k128_n32_g128"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
