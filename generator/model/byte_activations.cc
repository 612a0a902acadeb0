#include "generator/model/byte_activations.h"

#include "generator/planner/serving.h"
#include "generator/spec/byte_meaning.h"
#include "generator/target/capabilities.h"
#include "heddle/error.h"

namespace heddle {

const char* const kSixteenBitsNote =
    "the scheme quantises activations, too: the kernels take them in 16 bits, which is at least as "
    "accurate";

namespace {

// Weights of the scheme in a matrix of any size: the group does not divide a K that is not known.
GemmSpec gemm_of(const Scheme& scheme) {
  constexpr std::int64_t kAnySide = 128;
  GemmSpec gemm;
  gemm.shape.n = gemm.shape.k = kAnySide;
  gemm.pre_scale = scheme.pre_scale;
  gemm.act_order = scheme.act_order;
  gemm.weight.type = scheme.type;
  gemm.weight.bits = scheme.bits;
  gemm.weight.group_size = scheme.group_size.value_or(kPerChannel);
  if (!scheme.symmetric) gemm.weight.zero_point = ZeroPoint::kInt;
  gemm.weight.tensor_scale = scheme.tensor_scale;
  gemm.weight.scale_dtype = scheme.scale_dtype.value_or(DType::kFp32);
  return gemm;
}

std::string architectures_of(const GemmSpec& bytes) {
  if (takes_bytes(target_of_arch(75), bytes)) return "sm_75 and newer";
  return takes_bytes(target_of_arch(89), bytes) ? "sm_89, sm_90, sm_120 and newer" : "sm_90 alone";
}

// Whether mma.sync would multiply codes of FP8 as FP16. From 256 tokens on that took 1.5 times as
// long as X of 16 bits, on an H100.
bool converts_codes(const Target& target, const GemmSpec& gemm) {
  return gemm.activation != DType::kInt8 && has_fp8_mma(target) && !has_fp8_units(target) &&
         !has_wgmma(target);
}

// Why parts cannot follow each other in whole blocks.
std::string why_cut(const ScaleBlocks& blocks) {
  for (std::size_t i = 0; i + 1 < blocks.heights.size(); ++i) {
    if (blocks.heights[i] % blocks.rows == 0) continue;
    return "a part ends inside of a block of " + std::to_string(blocks.rows) +
           " rows, with others behind it";
  }
  return {};
}

}  // namespace

void set_blocks(const ScaleBlocks& blocks, WeightSpec* weight) {
  if (blocks.rows == 1) return;
  weight->group_rows = blocks.rows;
  weight->group_size = blocks.columns;
  weight->scale_dtype = DType::kFp32;
}

ScaleBlocks blocks_of(const Scheme& scheme) {
  if (scheme.block_rows == 1) return {};
  return {scheme.block_rows, scheme.group_size.value_or(0)};
}

void check_activation_bits(int bits) {
  if (bits == 0 || bits == 16) return;
  throw Error(ErrorCategory::kUsage, "model.activations",
              "activations cannot be asked for with " + std::to_string(bits) +
                  " bits; allowed: 16, and 0 for what the model says");
}

std::string activations_text(const ActivationScheme& activation) {
  std::string text(to_string(activation.dtype));
  text += " per " + std::string(to_string(activation.granularity));
  if (activation.granularity == RowGranularity::kGroup) {
    text += " of " + std::to_string(kRowGroup) + " columns";
  }
  if (activation.scale_dtype != RowScaleDtype::kFp32) {
    text += ", scales " + std::string(to_string(activation.scale_dtype));
  }
  if (activation.is_static) text += ", static";
  if (!activation.symmetric) text += ", with zero points";
  return text;
}

std::string why_sixteen_bits(const Scheme& scheme, int arch) {
  const ActivationScheme& activation = *scheme.activation;
  if (!activation.unserved.empty()) return "none is made for checkpoints of " + activation.unserved;
  GemmSpec gemm = gemm_of(scheme);
  std::string why = set_byte_activations(activation, blocks_of(scheme), DType::kFp16, &gemm);
  if (!why.empty() || arch == 0) return why;
  const Target target = target_of_arch(arch);
  if (takes_bytes(target, gemm)) return {};
  if (converts_codes(target, gemm) && refuse_on_target(Spec::from_gemm(gemm), target).empty()) {
    return "mma.sync of sm_" + std::to_string(arch) +
           " multiplies FP8 as FP16, which takes longer than activations of 16 bits";
  }
  return "sm_" + std::to_string(arch) + " has no kernel that takes " +
         activations_text(activation) +
         (!decodes_to_bytes(gemm)   ? ", "
          : has_bulk_copies(target) ? " with weights of 4 bits for more than 16 tokens, "
                                    : " with weights of 4 bits, ") +
         "as those of " + architectures_of(gemm) + " do";
}

std::string architectures_with_bytes(const Scheme& scheme) {
  GemmSpec gemm = gemm_of(scheme);
  set_byte_activations(*scheme.activation, blocks_of(scheme), DType::kFp16, &gemm);
  return architectures_of(gemm);
}

bool takes_bytes(const Target& target, const GemmSpec& gemm) {
  return !converts_codes(target, gemm) && refuse_on_target(Spec::from_gemm(gemm), target).empty();
}

int rank_by_bytes(const Target& target) {
  return has_wgmma(target) ? 2 : has_fp8_units(target) ? 1 : 0;
}

std::string set_byte_activations(const ActivationScheme& activation, const ScaleBlocks& blocks,
                                 DType output, GemmSpec* gemm) {
  const bool has_groups = activation.granularity == RowGranularity::kGroup;
  std::string reasons = has_groups ? why_cut(blocks) : "";
  if (!reasons.empty()) return reasons;
  GemmSpec bytes = *gemm;
  if (has_groups) set_blocks(blocks, &bytes.weight);
  bytes.activation = activation.dtype;
  bytes.activation_scale = {activation.granularity, activation.symmetric, activation.scale_dtype};
  bytes.output = output;
  bytes.weight.interleave = settled_interleave(bytes);
  Problems problems;
  check_byte_activations(bytes, problems);
  for (const Problem& problem : problems) {
    reasons += (reasons.empty() ? "" : "; ") + problem.message + ", and here it is " +
               problem.value + " (" + problem.pointer + ")";
  }
  if (reasons.empty()) *gemm = std::move(bytes);
  return reasons;
}

}  // namespace heddle
