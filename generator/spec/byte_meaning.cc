#include "generator/spec/byte_meaning.h"

#include <string>
#include <utility>

#include "generator/spec/in_quotes.h"

namespace heddle {
namespace {

std::string text_of(bool value) { return value ? "true" : "false"; }

bool has_integers_of_four_bits(const WeightSpec& weight) {
  return is_integer(weight.type) && weight.bits == 4;
}

bool is_of_bytes(Interleave interleave) {
  return interleave == Interleave::kSwizzle128b || interleave == Interleave::kByteFragment;
}

// The rules of one spec, each a line.
class Rules {
 public:
  Rules(const GemmSpec& gemm, Problems& problems) : gemm_(gemm), problems_(problems) {}

  void check_sixteen_bits() {
    unless(gemm_.activation_scale.granularity == RowGranularity::kNone, "/activation/granularity",
           "activations of 16 bits have no scales", granularity(), "\"none\"");
    unless(gemm_.activation_scale.symmetric, "/activation/symmetric",
           "activations of 16 bits have no zero points", "false", "true");
    unless(gemm_.activation_scale.scale_dtype == RowScaleDtype::kFp32, "/activation/scale_dtype",
           "activations of 16 bits have no scales", "\"e8m0\"", "\"fp32\"");
    unless(!gemm_.weight.has_blocks(), "/weight/group_rows",
           "blocks are multiplied by activations of 8 bits", group_rows(), "1");
    refuse_two_levels();
    unless(gemm_.accumulation == Accumulation::kPromoted, "/accumulation",
           "only products of FP8 are added in two ways", in_quotes(to_string(gemm_.accumulation)),
           "\"promoted\"");
    unless(!is_of_bytes(gemm_.weight.interleave), "/weight/interleave",
           "the order of codes that are multiplied by activations of 8 bits",
           in_quotes(to_string(gemm_.weight.interleave)), "another interleave");
  }

  void check_eight_bits() {
    check_columns();
    check_activations();
    decodes_to_bytes(gemm_) ? check_decoded_weights() : check_byte_weights();
    check_scales();
    unless(gemm_.output.has_value(), "/output/dtype",
           "with activations of 8 bits the type of Y has no default", "none",
           "\"fp16\", \"bf16\", \"fp32\" or a type of 8 bits");
    unless(!gemm_.multiply, "/multiply/dtype", "activations of 8 bits are multiplied as they are",
           gemm_.multiply ? in_quotes(to_string(*gemm_.multiply)) : "", "absent");
    unless(!is_integer_x() || gemm_.accumulation == Accumulation::kPromoted, "/accumulation",
           "integer sums are exact", in_quotes(to_string(gemm_.accumulation)), "\"promoted\"");
  }

 private:
  // So many INT8 products fit 32 bits, whatever the codes; with zero points X has up to 255.
  // Sums of groups are FP32 before they could pass them, but in two levels, which have one sum.
  void check_columns() {
    if (decodes_to_bytes(gemm_) && has_groups() && !gemm_.weight.has_two_levels()) return;
    constexpr std::int64_t kMost = 131071, kMostOfZeroPoints = 65793;
    const bool symmetric = gemm_.activation_scale.symmetric;
    const std::int64_t most = symmetric ? kMost : kMostOfZeroPoints;
    unless(!is_integer_x() || gemm_.shape.k <= most, "/shape/k",
           "sums of more INT8 products may pass 32 bits", std::to_string(gemm_.shape.k),
           symmetric ? "at most 131071" : "at most 65793");
  }

  bool is_integer_x() const { return gemm_.activation == DType::kInt8; }
  std::string group_rows() const { return std::to_string(gemm_.weight.group_rows); }
  std::string granularity() const {
    return in_quotes(to_string(gemm_.activation_scale.granularity));
  }

  void check_activations() {
    const RowGranularity granularity_of_x = gemm_.activation_scale.granularity;
    const bool of_groups = granularity_of_x == RowGranularity::kGroup;
    unless(granularity_of_x != RowGranularity::kNone, "/activation/granularity",
           "activations of 8 bits have scales", granularity(),
           is_integer_x()              ? "\"tensor\" or \"token\""
           : gemm_.weight.has_blocks() ? "\"group\""
                                       : "\"tensor\", \"token\" or \"group\"");
    unless(!of_groups || !is_integer_x(), "/activation/granularity",
           "integer sums are scaled once all of K has been added", granularity(),
           "\"tensor\" or \"token\"");
    unless(!of_groups || is_integer_x() || gemm_.weight.has_blocks(), "/activation/granularity",
           "scales of 128 columns meet blocks of 128 by 128 weights", granularity(),
           "\"tensor\" or \"token\", or weight.group_rows 128");
    unless(of_groups || gemm_.activation_scale.scale_dtype == RowScaleDtype::kFp32,
           "/activation/scale_dtype", "only scales of groups are powers of two", "\"e8m0\"",
           "\"fp32\"");
    unless(gemm_.activation_scale.symmetric ||
               (is_integer_x() && granularity_of_x == RowGranularity::kToken),
           "/activation/symmetric", "only INT8 per token has zero points", "false", "true");
    unless(gemm_.activation_scale.symmetric || !decodes_to_bytes(gemm_), "/activation/symmetric",
           "weights of 4 bits have no sums of rows to multiply zero points by", "false", "true");
    unless(!gemm_.pre_scale, "/activation/pre_scale",
           "factors of columns are applied before rows are rounded to 8 bits, by row_transform",
           "true", "false");
    unless(!gemm_.act_order, "/activation/act_order", "columns of 8 bits are in order", "true",
           "false");
  }

  void refuse_two_levels() {
    const WeightSpec& weight = gemm_.weight;
    unless(!weight.has_two_levels(), "/weight/channel_scale",
           "integer scales of groups make INT8 of codes of 4 bits, for activations in int8",
           weight.has_two_levels() ? in_quotes(to_string(*weight.channel_scale)) : "", "\"none\"");
  }

  // For codes that are multiplied as they are.
  void check_byte_weights() {
    const WeightSpec& weight = gemm_.weight;
    const bool floats = weight.type == WeightType::kE4m3 || weight.type == WeightType::kE5m2;
    const bool integers = weight.type == WeightType::kInt && weight.bits == 8;
    unless(is_integer_x() ? integers : floats, "/weight/type",
           "activations of 8 bits are multiplied by weights of the same kind, or of 4 bits",
           type_text(), is_integer_x() ? "\"int\" of 8 bits" : "\"e4m3\" or \"e5m2\"");
    if (weight.has_blocks() && !is_integer_x()) {
      check_blocks();
    } else {
      unless(!weight.has_blocks(), "/weight/group_rows", "blocks are of FP8", group_rows(), "1");
      // With scales of 128 columns of X a group of as many is right: of a block, which is asked
      // for.
      const bool wants_blocks =
          gemm_.activation_scale.granularity == RowGranularity::kGroup && !is_integer_x();
      unless(!has_groups() || wants_blocks, "/weight/group_size",
             "the sums of all of K are scaled at once", std::to_string(weight.group_size),
             "-1 (per channel) or 0 (per tensor)");
    }
    unless(weight.zero_point == ZeroPoint::kNone, "/weight/zero_point",
           "codes are multiplied as they are", in_quotes(to_string(weight.zero_point)), "\"none\"");
    unless(weight.interleave == Interleave::kSwizzle128b, "/weight/interleave",
           "codes that are multiplied as they are have one order",
           in_quotes(to_string(weight.interleave)), "\"swizzle_128b\"");
    refuse_two_levels();
  }

  // For codes that become INT8 or e4m3, which have to hold every code less its zero point. What
  // multiplies a float of four bits with its scale would round.
  void check_decoded_weights() {
    const WeightSpec& weight = gemm_.weight;
    constexpr int kColumns = 32;  // of a matrix instruction
    if (!has_integers_of_four_bits(weight)) {
      problems_.push_back(
          {"/weight/type",
           "activations of 8 bits are multiplied by integers of 4 bits, or by 8 bits", type_text(),
           "\"uint\" or \"int\" of 4 bits", ""});
      return;
    }
    unless(!weight.has_blocks(), "/weight/group_rows", "blocks are of weights of 8 bits",
           group_rows(), "1");
    unless(!has_groups() || weight.group_size % kColumns == 0, "/weight/group_size",
           "a group has whole columns of a matrix instruction", std::to_string(weight.group_size),
           "-1 (per channel), 0 (per tensor), or a multiple of 32");
    unless(weight.group_offset % kColumns == 0, "/weight/group_offset",
           "a group has whole columns of a matrix instruction", std::to_string(weight.group_offset),
           "a multiple of 32");
    unless(!has_groups() || gemm_.accumulation == Accumulation::kPromoted, "/accumulation",
           "sums of groups leave the tensor cores to be scaled",
           in_quotes(to_string(gemm_.accumulation)), "\"promoted\"");
    unless(weight.zero_point != ZeroPoint::kFloat, "/weight/zero_point",
           "codes of 8 bits are integers less integers", in_quotes(to_string(weight.zero_point)),
           "\"none\" or \"int\"");
    unless(weight.interleave == Interleave::kByteFragment, "/weight/interleave",
           "codes that become 8 bits have one order", in_quotes(to_string(weight.interleave)),
           "\"byte_fragment\"");
    if (!is_integer_x()) refuse_two_levels();
    unless(!weight.has_two_levels() || has_groups(), "/weight/group_size",
           "the first of two levels of scales is of groups", std::to_string(weight.group_size),
           "a multiple of 32");
  }

  void check_scales() {
    const WeightSpec& weight = gemm_.weight;
    unless(!weight.tensor_scale, "/weight/tensor_scale",
           "a factor of all of W is part of its scales here", text_of(weight.tensor_scale),
           "false");
    unless(!has_small_scales(weight), "/weight/scale_dtype",
           "scales of channels and groups have 16 or 32 bits",
           in_quotes(to_string(weight.scale_dtype)), "\"fp16\", \"bf16\" or \"fp32\"");
  }

  bool has_groups() const {
    return gemm_.weight.group_size != kPerChannel && gemm_.weight.group_size != kPerTensor;
  }
  std::string type_text() const {
    return in_quotes(to_string(gemm_.weight.type)) + " of " + std::to_string(gemm_.weight.bits) +
           " bits";
  }

  // Sums of 128 columns are scaled by the token's factor and the block's.
  void check_blocks() {
    const WeightSpec& weight = gemm_.weight;
    unless(gemm_.activation_scale.granularity == RowGranularity::kGroup, "/weight/group_rows",
           "blocks are multiplied by activations with a scale for each row and 128 columns",
           group_rows(), "1, or activation.granularity \"group\"");
    unless(weight.group_rows == kBlockRows, "/weight/group_rows", "a block has 128 rows",
           group_rows(), "1 or 128");
    unless(weight.group_size == kRowGroup, "/weight/group_size", "a block has 128 columns",
           std::to_string(weight.group_size), "128");
    unless(weight.scale_dtype == DType::kFp32, "/weight/scale_dtype", "scales of blocks are FP32",
           in_quotes(to_string(weight.scale_dtype)), "\"fp32\"");
    unless(weight.group_offset == 0, "/weight/group_offset", "W begins with a whole block",
           std::to_string(weight.group_offset), "0");
    unless(gemm_.accumulation == Accumulation::kPromoted, "/accumulation",
           "sums of 128 columns leave the tensor cores to be scaled",
           in_quotes(to_string(gemm_.accumulation)), "\"promoted\"");
    unless(!gemm_.epilogue.gated || gemm_.shape.n % (2 * kBlockRows) == 0, "/shape/n",
           "with a gated epilogue gates and ups have whole blocks", std::to_string(gemm_.shape.n),
           "multiples of 256");
  }

  void unless(bool fine, const char* pointer, const char* why, std::string value,
              const char* allowed) {
    if (!fine) problems_.push_back({pointer, why, std::move(value), allowed, ""});
  }

  const GemmSpec& gemm_;
  Problems& problems_;
};

}  // namespace

bool decodes_to_bytes(const GemmSpec& gemm) {
  constexpr int kByteBits = 8;
  return gemm.has_byte_activations() && gemm.weight.bits < kByteBits;
}

Interleave settled_interleave(const GemmSpec& gemm) {
  const Interleave given = gemm.weight.interleave;
  if (!gemm.has_byte_activations() || given != Interleave::kFragment) return given;
  if (!decodes_to_bytes(gemm)) return Interleave::kSwizzle128b;
  return has_integers_of_four_bits(gemm.weight) ? Interleave::kByteFragment : given;
}

void check_byte_activations(const GemmSpec& gemm, Problems& problems) {
  Rules rules(gemm, problems);
  if (gemm.has_byte_activations()) {
    rules.check_eight_bits();
  } else {
    rules.check_sixteen_bits();
  }
}

}  // namespace heddle
