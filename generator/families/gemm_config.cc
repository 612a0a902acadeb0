#include "generator/families/gemm_config.h"

#include "generator/families/packed_layout.h"
#include "generator/families/value_type.h"

namespace heddle {
namespace {

std::string scale_class(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return "Scale16<Fp16>";
    case DType::kBf16:
      return "Scale16<Bf16>";
    case DType::kFp32:
      return "ScaleFp32";
    case DType::kE8m0:
      return "Scale8<E8m0>";
    case DType::kE4m3:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      return "Scale8<E4m3>";
  }
  return {};
}

std::string plain_result_class(DType dtype) {
  return dtype == DType::kFp32 ? "ResultFp32" : "Result16<" + value_type(dtype) + '>';
}

std::string result_class(const GemmSpec& spec) {
  const DType dtype = spec.output_dtype();
  if (!spec.has_byte_output()) return plain_result_class(dtype);
  const char* code = dtype == DType::kInt8      ? "Int8Code"
                     : dtype == DType::kFp8E4m3 ? "E4m3Code"
                                                : "E5m2Code";
  const std::string classes = std::string(code) + ", " + plain_result_class(spec.residual_dtype());
  if (!finds_output_scales(spec)) return "ResultCodes<" + classes + '>';
  const bool e8m0 = spec.output_scale.scale_dtype == RowScaleDtype::kE8m0;
  return "ResultGroups<" + classes + (e8m0 ? ", true>" : ", false>");
}

}  // namespace

static_assert(device::Workspace::kCounterBytes == kWorkspaceCounterBytes);

device::PackedWeights packed_weights(const GemmSpec& spec, const WeightLayout& layout) {
  device::PackedWeights weights{};
  weights.bits = layout.scale_offset / (2 * WeightLayout::kChunkK);
  copy_chunk(layout, weights);
  weights.zero_point = spec.weight.zero_point;
  // What decoding takes off an unsigned code.
  weights.fixed_bias = spec.weight.type == WeightType::kUint ? 1 << (spec.weight.bits - 1) : 0;
  weights.tensor_scale = spec.weight.tensor_scale;
  weights.row_lines = spec.weight.interleave == Interleave::kTrtllm;
  return weights;
}

device::WeightShape weight_shape(const GemmSpec& spec, const WeightLayout& layout) {
  device::WeightShape shape{};
  shape.n = static_cast<int>(spec.shape.n);
  shape.k = static_cast<int>(spec.shape.k);
  shape.row_blocks = static_cast<int>(layout.row_blocks);
  shape.chunks = static_cast<int>(layout.chunks_per_row_block);
  shape.channel_offset = static_cast<device::i64>(layout.channel_offset);
  shape.tensor_offset = static_cast<device::i64>(layout.tensor_offset);
  return shape;
}

device::EpilogueConfig epilogue_of(const GemmSpec& spec) {
  const EpilogueSpec& epilogue = spec.epilogue;
  return {epilogue.bias ? bytes_of(spec.bias_dtype()) : 0,
          epilogue.residual,
          epilogue.activation,
          epilogue.gated,
          epilogue.limit,
          epilogue.gate_limit,
          bytes_of(spec.output_dtype()),
          finds_output_scales(spec)};
}

void add_output_arguments(const GemmSpec& spec, PlannedKernel& kernel) {
  if (spec.has_byte_output()) kernel.arguments.push_back(KernelArgument::kYScales);
}

std::vector<std::string> gemm_aliases(const GemmSpec& spec) {
  const std::string value = value_type(spec.bias_dtype());
  // With two levels of scales the type is that of the channels' scales: the groups' are integers.
  const DType scale = spec.weight.channel_scale.value_or(spec.weight.scale_dtype);
  return {"using Value = " + value + ';',
          // Without scales no kernel asks for one, but all kernels name their type.
          "using Scale = " + scale_class(spec.weight.has_scales() ? scale : spec.activation) + ';',
          "using Result = " + result_class(spec) + ';'};
}

}  // namespace heddle
