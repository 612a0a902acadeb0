// Operations on weights that a gemm with activations of eight bits multiplies as they are.
#include "generator/spec/byte_meaning.h"

#include <string>
#include <utility>

#include "generator/spec/in_quotes.h"

namespace heddle {
namespace {

bool is_in_rows(const WeightSpec& weight) { return weight.interleave == Interleave::kSwizzle128b; }

bool is_integer_x(const WeightSpec& weight) {
  return weight.type == WeightType::kInt || weight.has_two_levels();
}

void refuse_checkpoint(const WeightSpec& weight, Problems& problems) {
  if (is_in_rows(weight)) {
    problems.push_back({"/weight/interleave",
                        "codes of AWQ and GPTQ are unsigned: no kernel multiplies them as they are",
                        in_quotes(to_string(weight.interleave)), "another interleave", ""});
  }
  if (weight.has_blocks()) {
    problems.push_back({"/weight/group_rows", "scales of AWQ and GPTQ are of one row",
                        std::to_string(weight.group_rows), "1", ""});
  }
}

}  // namespace

GemmSpec byte_gemm_of(const WeightOpSpec& spec) {
  GemmSpec gemm;
  gemm.shape.n = spec.shape.n;
  gemm.shape.k = spec.shape.k;
  gemm.weight = spec.weight;
  gemm.activation = is_integer_x(spec.weight) ? DType::kInt8 : DType::kFp8E4m3;
  gemm.activation_scale.granularity =
      spec.weight.has_blocks() ? RowGranularity::kGroup : RowGranularity::kToken;
  gemm.output = DType::kFp16;
  gemm.epilogue.gated = spec.gated;
  return gemm;
}

void check_order_of_op(bool reads_codes, const WeightOpSpec& spec, Problems& problems) {
  const WeightSpec& weight = spec.weight;
  if (weight.interleave == Interleave::kByteFragment) {
    problems.push_back({"/weight/interleave", "pack_weights() alone packs this order, on the host",
                        in_quotes(to_string(weight.interleave)), "another interleave", ""});
  }
  if (weight.has_two_levels()) {
    problems.push_back({"/weight/channel_scale",
                        "scales in two levels are made and packed on the host alone",
                        in_quotes(to_string(*weight.channel_scale)), "\"none\"", ""});
  }
  if (!is_in_rows(weight) && !weight.has_blocks()) return;
  if (reads_codes) return refuse_checkpoint(weight, problems);
  const std::string_view type = "/weight/type";
  const bool floats = weight.type == WeightType::kE4m3 || weight.type == WeightType::kE5m2;
  if (!floats && !(weight.type == WeightType::kInt && weight.bits == 8)) {
    problems.push_back(
        {std::string(type), "codes in the order swizzle_128b are multiplied as they are",
         in_quotes(to_string(weight.type)) + " of " + std::to_string(weight.bits) + " bits",
         "\"int\" of 8 bits, \"e4m3\" or \"e5m2\"", ""});
  }
  Problems of_gemm;
  check_byte_activations(byte_gemm_of(spec), of_gemm);
  for (Problem& problem : of_gemm) {
    if (problem.pointer != type) problems.push_back(std::move(problem));
  }
  if (spec.act_order) {
    problems.push_back(
        {"/source/act_order", "columns of 8 bits are in order", "true", "false", ""});
  }
}

}  // namespace heddle
