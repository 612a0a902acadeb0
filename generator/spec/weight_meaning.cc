#include "generator/spec/weight_meaning.h"

#include <string>

#include "generator/spec/in_quotes.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr int kStepN = 8;  // rows of Y are then a multiple of 16 bytes, of codes 8
// A row block has as many gates as ups.
constexpr int kGatedStepN = WeightLayout::kRowBlock;
constexpr int kStepK = 32;  // two k tiles of the fragment layout

std::string multiples_of(std::int64_t step) { return "multiples of " + std::to_string(step); }

void check_type(const WeightSpec& weight, Problems& problems) {
  const int bits = fixed_bits(weight.type);
  if (bits != 0 && bits != weight.bits) {
    problems.push_back({"/weight/bits",
                        "codes of type " + std::string(to_string(weight.type)) + " have " +
                            std::to_string(bits) + " bits",
                        std::to_string(weight.bits), std::to_string(bits), ""});
  }
  constexpr int kMostCodeBits = 8;
  if (bits == 0 && weight.bits > kMostCodeBits) {
    problems.push_back({"/weight/bits", "only the types fp16 and bf16 have more than 8 bits",
                        std::to_string(weight.bits), "1 to 8", ""});
  }
  if (!is_integer(weight.type) && weight.zero_point != ZeroPoint::kNone) {
    problems.push_back({"/weight/zero_point", "only integer codes have zero points",
                        in_quotes(to_string(weight.zero_point)), "\"none\"", ""});
  }
  const bool coded = bytes_of(weight.scale_dtype) == 1;
  if (weight.zero_point == ZeroPoint::kFloat && coded) {
    problems.push_back({"/weight/scale_dtype", "float zero points are of the scales' type",
                        in_quotes(to_string(weight.scale_dtype)), "\"fp16\", \"bf16\" or \"fp32\"",
                        ""});
  }
}

// Integers alone multiply codes exactly; without a scale of the row they would be all there is.
void check_levels(const WeightSpec& weight, Problems& problems) {
  const bool has_integers = weight.scale_dtype == DType::kInt8;
  if (has_integers == weight.has_two_levels()) return;
  problems.push_back({"/weight/scale_dtype",
                      has_integers ? "integer scales of groups need a scale of each channel"
                                   : "under a scale of each channel those of groups are integers",
                      in_quotes(to_string(weight.scale_dtype)),
                      has_integers ? "another type, or a weight.channel_scale" : "\"int8\"", ""});
}

void check_interleave(const WeightSpec& weight, Problems& problems) {
  const auto refuse = [&](const char* why) {
    problems.push_back(
        {"/weight/interleave", why, in_quotes(to_string(weight.interleave)), "\"fragment\"", ""});
  };
  if (!weight.has_scales() && weight.interleave != Interleave::kFragment) {
    return refuse("weights of 16 bits have one order");
  }
  switch (weight.interleave) {
    case Interleave::kAwq:
      if (weight.bits != 4) refuse("AWQ's order is one of 4-bit codes");
      break;
    case Interleave::kEvenOdd:
      if (32 % weight.bits != 0) refuse("even and odd codes need whole codes in a word");
      break;
    case Interleave::kTrtllm:
      if (!is_integer(weight.type) || (weight.bits != 4 && weight.bits != 8)) {
        refuse("TensorRT-LLM interleaves integer codes of 4 and 8 bits");
      }
      break;
    case Interleave::kSwizzle128b:
      if (weight.bits != 8) refuse("only codes of 8 bits are multiplied as they are");
      break;
    case Interleave::kByteFragment:
      if (!is_integer(weight.type) || weight.bits != 4) {
        refuse("only integers of 4 bits become codes of 8 bits");
      }
      break;
    case Interleave::kPermutation:
    case Interleave::kLinear:
    case Interleave::kFragment:
      break;
  }
  const bool permuted = weight.interleave == Interleave::kPermutation;
  const std::size_t codes = permuted && 32 % weight.bits == 0 ? 32 / weight.bits : 0;
  if (weight.permutation.size() == codes) {
    for (const int element : weight.permutation) {
      if (element < static_cast<int>(codes)) continue;
      problems.push_back({"/weight/permutation", "a word has no such element",
                          std::to_string(element), "0 to " + std::to_string(codes - 1), ""});
    }
    if (permuted && codes == 0) refuse("a permutation needs whole codes in a word");
    return;
  }
  problems.push_back(
      {"/weight/permutation",
       permuted ? "names each of the codes of a word once" : "needs the interleave \"permutation\"",
       std::to_string(weight.permutation.size()) + " elements", std::to_string(codes) + " elements",
       ""});
}

}  // namespace

void check_sides(const MatrixShape& shape, Problems& problems) {
  if (shape.n % kStepN != 0) {
    problems.push_back({"/shape/n",
                        "N must be a multiple of 8: rows of Y are written 16 bytes at a time",
                        std::to_string(shape.n), multiples_of(kStepN), ""});
  }
  if (shape.k % kStepK != 0) {
    problems.push_back({"/shape/k",
                        "K must be a multiple of 32: packed weights have no shorter step along K",
                        std::to_string(shape.k), multiples_of(kStepK), ""});
  }
}

void check_gated(std::int64_t n, Problems& problems) {
  if (n % kGatedStepN == 0) return;
  problems.push_back(
      {"/shape/n",
       "with a gated epilogue N must be a multiple of 16: as many gates as ups, in eights",
       std::to_string(n), multiples_of(kGatedStepN), ""});
}

bool is_integer(WeightType type) { return type == WeightType::kUint || type == WeightType::kInt; }

bool is_integer_up_to(const WeightSpec& weight, int bits) {
  return is_integer(weight.type) && weight.bits <= bits;
}

bool has_small_scales(const WeightSpec& weight) {
  return weight.scale_dtype == DType::kE4m3 || weight.scale_dtype == DType::kE8m0;
}

int fixed_bits(WeightType type) {
  switch (type) {
    case WeightType::kE4m3:
    case WeightType::kE5m2:
      return 8;
    case WeightType::kE2m3:
    case WeightType::kE3m2:
      return 6;
    case WeightType::kE2m1:
    case WeightType::kNf4:
      return 4;
    case WeightType::kFp16:
    case WeightType::kBf16:
      return 16;
    case WeightType::kUint:
    case WeightType::kInt:
      break;
  }
  return 0;
}

void check_groups(std::int64_t k, const WeightSpec& weight, Problems& problems) {
  const int group = weight.group_size;
  const int offset = weight.group_offset;
  const bool grouped = group != kPerChannel && group != kPerTensor;
  if (offset != 0) {
    if (grouped && offset > 0 && offset < group && offset % kGroupStep == 0) return;
    problems.push_back({"/weight/group_offset",
                        grouped ? "W begins at a whole k tile inside of its first group"
                                : "only groups along K can be cut by a shard",
                        std::to_string(offset),
                        grouped ? "0 to " + std::to_string(group - kGroupStep) +
                                      ", a multiple of " + std::to_string(kGroupStep)
                                : "0",
                        ""});
    return;
  }
  // The last blocks may have fewer rows and columns.
  if (!grouped || k % group == 0 || weight.has_blocks()) return;
  problems.push_back(
      {"/weight/group_size",
       std::string(group > k ? "the group is larger than K = " : "the group does not divide K = ") +
           std::to_string(k),
       std::to_string(group), "-1 (per channel), 0 (per tensor), or a divisor of K", ""});
}

void check_is_quantised(const WeightSpec& weight, Problems& problems) {
  if (weight.has_scales()) return;
  problems.push_back({"/weight/type", "only a gemm takes weights that are not quantised",
                      in_quotes(to_string(weight.type)), "a type of at most 8 bits", ""});
}

void check_quantized_groups(const WeightSpec& weight, Problems& problems) {
  if (weight.group_offset == 0) return;
  problems.push_back({"/weight/group_offset",
                      "a scale is made from all columns of its group, and W lacks some of them",
                      std::to_string(weight.group_offset), "0", ""});
}

void check_weight(const MatrixShape& shape, const WeightSpec& weight, Problems& problems) {
  check_type(weight, problems);
  if (weight.has_scales()) {
    check_groups(shape.k, weight, problems);
    check_levels(weight, problems);
  }
  check_interleave(weight, problems);
}

void check_checkpoint(const WeightOpSpec& spec, Problems& problems) {
  const WeightSpec& weight = spec.weight;
  const bool awq = spec.format == CheckpointFormat::kAwq;
  const std::string format(to_string(spec.format));
  const auto unless = [&](bool fine, const char* pointer, const char* why, std::string value,
                          const char* allowed) {
    if (!fine) problems.push_back({pointer, format + ": " + why, std::move(value), allowed, ""});
  };
  unless(weight.type == WeightType::kUint, "/weight/type", "the codes are unsigned",
         in_quotes(to_string(weight.type)), "\"uint\"");
  unless(awq ? weight.bits == 4
             : weight.bits == 2 || weight.bits == 3 || weight.bits == 4 || weight.bits == 8,
         "/weight/bits", "there are no checkpoints with this width", std::to_string(weight.bits),
         awq ? "4" : "2, 3, 4, 8");
  unless(weight.zero_point != ZeroPoint::kFloat, "/weight/zero_point", "zero points are integers",
         "\"float\"", "\"none\" or \"int\"");
  unless(weight.group_size != kPerTensor && !weight.tensor_scale, "/weight/group_size",
         "scales are per group or per channel", std::to_string(weight.group_size),
         "-1, or 16 and more");
  // Those of AWQ always do: eight rows to a word.
  const bool stored_zeros = weight.zero_point == ZeroPoint::kInt;
  unless(!stored_zeros || spec.shape.n * weight.bits % 32 == 0, "/shape/n",
         "the zero points of a group fill whole words", std::to_string(spec.shape.n),
         "N * bits a multiple of 32");
  unless(!awq || !spec.act_order, "/source/act_order", "the columns are in order", "true", "false");
  unless(weight.group_offset == 0 || !spec.act_order, "/weight/group_offset",
         "with act-order g_idx names the group of each column", std::to_string(weight.group_offset),
         "0");
}

}  // namespace heddle
