#include "tests/emulator/weight_op_cases.h"

#include <utility>

namespace heddle {
namespace {

using WeightOpCases = std::vector<WeightOpCase>;

// In both orders of rows: the shape has as many gates as ups.
void add(const std::string& name, Op op, WeightOpSpec spec, WeightOpCases* cases) {
  for (const bool gated : {false, true}) {
    spec.gated = gated;
    cases->push_back({name + (gated ? "Gated" : "Plain"), Spec::from_weight_op(op, spec)});
  }
}

WeightOpSpec spec_of(std::int64_t n, std::int64_t k, int bits, int group,
                     ZeroPoint zero = ZeroPoint::kInt) {
  WeightOpSpec spec;
  spec.shape = {n, k};
  spec.weight.bits = bits;
  spec.weight.group_size = group;
  spec.weight.zero_point = zero;
  return spec;
}

// Weights that are multiplied as they are, in both ways of scaling: names and specs. Neither N nor
// K is whole blocks where rows are not gated.
std::vector<std::pair<std::string, WeightOpSpec>> weights_of_rows() {
  std::vector<std::pair<std::string, WeightOpSpec>> specs;
  const struct {
    const char* name;
    WeightType type;
    DType scale;
    DType dtype;
    std::int64_t k;  // of one chunk, a part of one, and more than a step of them
  } kinds[] = {{"Int8", WeightType::kInt, DType::kFp32, DType::kFp16, 672},
               {"Int8Bf16", WeightType::kInt, DType::kBf16, DType::kBf16, 96},
               {"E4m3", WeightType::kE4m3, DType::kFp16, DType::kFp16, 128},
               {"E5m2", WeightType::kE5m2, DType::kFp32, DType::kBf16, 288}};
  for (const auto& kind : kinds) {
    WeightOpSpec spec = spec_of(48, kind.k, 8, kPerChannel, ZeroPoint::kNone);
    spec.weight.type = kind.type;
    spec.weight.scale_dtype = kind.scale;
    spec.weight.interleave = Interleave::kSwizzle128b;
    spec.dtype = kind.dtype;
    specs.emplace_back(kind.name + std::string("Rows"), spec);
  }
  return specs;
}

// Blocks of 128 by 128: whole ones of gates and ups, and rows and columns that no block fills.
void add_blocks(Op op, WeightOpCases* cases) {
  WeightOpSpec spec = spec_of(512, 160, 8, kRowGroup, ZeroPoint::kNone);
  spec.weight.type = WeightType::kE4m3;
  spec.weight.scale_dtype = DType::kFp32;
  spec.weight.group_rows = kBlockRows;
  spec.weight.interleave = Interleave::kSwizzle128b;
  spec.dtype = DType::kBf16;
  add("E4m3Blocks", op, spec, cases);
  spec.weight.type = WeightType::kE5m2;
  spec.dtype = DType::kFp16;
  for (const auto& [n, k] : {std::pair{200, 96}, {136, 416}, {264, 256}, {8, 128}}) {
    spec.shape = {n, k};
    cases->push_back({"E5m2Blocks" + std::to_string(n) + "By" + std::to_string(k),
                      Spec::from_weight_op(op, spec)});
  }
}

// A row block of which half are rows of W.
void add_rows(Op op, WeightOpCases* cases) {
  for (auto& [name, spec] : weights_of_rows()) {
    add(name, op, spec, cases);
    spec.shape.n = 24;
    cases->push_back({name + "AndPadding", Spec::from_weight_op(op, spec)});
  }
}

WeightOpCases make_repack_cases() {
  WeightOpCases cases;
  // Tiles have 256 rows of AWQ and 128 of GPTQ: fewer rows, and more.
  for (const std::int64_t n : {48, 288}) {
    WeightOpSpec awq = spec_of(n, 160, 4, 32);
    awq.format = CheckpointFormat::kAwq;
    add("Awq" + std::to_string(n), Op::kRepack, awq, &cases);
  }
  for (const int bits : {2, 3, 4, 8}) {
    const std::int64_t n = bits == 4 ? 160 : 32;
    WeightOpSpec gptq = spec_of(n, 160, bits, bits == 8 ? kPerChannel : 32);
    gptq.format = CheckpointFormat::kGptq;
    add("Gptq" + std::to_string(bits), Op::kRepack, gptq, &cases);
  }
  WeightOpSpec second = spec_of(32, 160, 2, 32);
  second.format = CheckpointFormat::kGptqV2;
  add("GptqV2", Op::kRepack, second, &cases);
  WeightOpSpec order = spec_of(48, 96, 4, 32);
  order.format = CheckpointFormat::kGptq;
  order.act_order = true;
  add("GptqActOrder", Op::kRepack, order, &cases);
  WeightOpSpec lines = spec_of(32, 128, 4, 128, ZeroPoint::kNone);
  lines.format = CheckpointFormat::kGptq;
  lines.weight.interleave = Interleave::kTrtllm;
  add("Lines", Op::kRepack, lines, &cases);
  // Shards that begin inside of a group, and end inside of one.
  for (const auto& [group, offset] :
       {std::pair{128, 96}, {128, 16}, {64, 32}, {32, 16}, {256, 128}, {48, 16}}) {
    const std::string name = std::to_string(group) + "CutAt" + std::to_string(offset);
    WeightOpSpec cut = spec_of(48, 352, 4, group);
    cut.weight.group_offset = offset;
    cut.format = CheckpointFormat::kAwq;
    add("AwqOf" + name, Op::kRepack, cut, &cases);
    cut.format = CheckpointFormat::kGptq;
    cut.weight.bits = 3;
    cut.shape.n = 32;
    add("GptqOf" + name, Op::kRepack, cut, &cases);
  }
  return cases;
}

WeightOpCases make_quantize_cases() {
  WeightOpCases cases;
  add("Int4", Op::kQuantizeWeight, spec_of(48, 160, 4, 32), &cases);
  add("Int3Channel", Op::kQuantizeWeight, spec_of(32, 288, 3, kPerChannel, ZeroPoint::kNone),
      &cases);
  WeightOpSpec fp8 = spec_of(16, 640, 8, 128, ZeroPoint::kNone);
  fp8.weight.type = WeightType::kE4m3;
  fp8.weight.scale_dtype = DType::kFp32;
  fp8.dtype = DType::kBf16;
  add("E4m3", Op::kQuantizeWeight, fp8, &cases);
  add_rows(Op::kQuantizeWeight, &cases);
  add_blocks(Op::kQuantizeWeight, &cases);
  return cases;
}

WeightOpCases make_dequantize_cases() {
  WeightOpCases cases;
  add("Int4", Op::kDequantize, spec_of(48, 160, 4, 32), &cases);
  add("Int3Channel", Op::kDequantize, spec_of(32, 288, 3, kPerChannel, ZeroPoint::kNone), &cases);
  WeightOpSpec odd = spec_of(80, 96, 8, 96);
  odd.weight.scale_dtype = DType::kFp32;
  odd.weight.tensor_scale = true;
  odd.dtype = DType::kBf16;
  add("Int8Fp32Scales", Op::kDequantize, odd, &cases);
  WeightOpSpec order = spec_of(48, 160, 4, 32);
  order.act_order = true;
  add("ActOrder", Op::kDequantize, order, &cases);
  WeightOpSpec lines = spec_of(32, 128, 4, 128, ZeroPoint::kNone);
  lines.weight.interleave = Interleave::kTrtllm;
  add("Lines", Op::kDequantize, lines, &cases);
  add_rows(Op::kDequantize, &cases);
  add_blocks(Op::kDequantize, &cases);
  WeightOpSpec tensor = spec_of(32, 128, 8, kPerTensor, ZeroPoint::kNone);
  tensor.weight.type = WeightType::kE4m3;
  tensor.weight.interleave = Interleave::kSwizzle128b;
  add("E4m3RowsOfATensor", Op::kDequantize, tensor, &cases);
  // Shards that begin inside of a group, and end inside of one, packed and as checkpoints have
  // them.
  for (const auto& [group, offset] :
       {std::pair{128, 96}, {128, 16}, {64, 32}, {32, 16}, {256, 128}, {48, 16}}) {
    const std::string name = std::to_string(group) + "CutAt" + std::to_string(offset);
    WeightOpSpec cut = spec_of(48, 352, 4, group);
    cut.weight.group_offset = offset;
    add("Of" + name, Op::kDequantize, cut, &cases);
    cut.weight.zero_point = ZeroPoint::kFloat;
    cut.weight.scale_dtype = DType::kFp32;
    cut.act_order = true;
    add("FloatZerosOf" + name, Op::kDequantize, cut, &cases);
    WeightOpSpec stored = spec_of(64, 352, 4, group);
    stored.weight.group_offset = offset;
    stored.format = CheckpointFormat::kAwq;
    cases.push_back({"AwqOf" + name, Spec::from_weight_op(Op::kDequantize, stored)});
    for (const int bits : {2, 3, 4, 8}) {
      stored.format = offset % 32 == 0 ? CheckpointFormat::kGptqV2 : CheckpointFormat::kGptq;
      stored.weight.bits = bits;
      cases.push_back({"Gptq" + std::to_string(bits) + "Of" + name,
                       Spec::from_weight_op(Op::kDequantize, stored)});
    }
  }
  return cases;
}

}  // namespace

Plan WeightOpCase::plan() const { return resolve(spec, target_from_name("h200")); }

const std::vector<WeightOpCase>& repack_cases() {
  static const WeightOpCases cases = make_repack_cases();
  return cases;
}

const std::vector<WeightOpCase>& quantize_cases() {
  static const WeightOpCases cases = make_quantize_cases();
  return cases;
}

const std::vector<WeightOpCase>& dequantize_cases() {
  static const WeightOpCases cases = make_dequantize_cases();
  return cases;
}

}  // namespace heddle
