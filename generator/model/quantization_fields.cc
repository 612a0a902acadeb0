#include "generator/model/quantization_fields.h"

#include <utility>
#include <vector>

#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostBits = 8;
constexpr std::int64_t kGroupStep = 16;  // as in the spec's table
constexpr std::int64_t kLargestGroup = 1 << 20;

void set_float(WeightType type, int bits, int group_size, DType scale, Quantization& result) {
  result.weight.type = type;
  result.weight.bits = bits;
  result.weight.group_size = group_size;
  result.weight.zero_point = ZeroPoint::kNone;
  result.scale_dtype = scale;
}

}  // namespace

void refuse_quantization(const ConfigReader& config, std::string_view key, std::string message,
                         std::string value, std::string allowed) {
  throw Error(ErrorCategory::kUnsupported, "model.quantization",
              std::vector<Problem>{{config.pointer(key), std::move(message), std::move(value),
                                    std::move(allowed), ""}});
}

std::string quoted(std::string_view text) { return '"' + excerpt(text) + '"'; }

int read_group_size(const ConfigReader& config, std::string_view key) {
  const std::int64_t group = config.required_integer(key);
  const bool is_whole = group >= kGroupStep && group % kGroupStep == 0;
  if (group == kPerChannel || (is_whole && group <= kLargestGroup)) return static_cast<int>(group);
  config.add("out_of_range", key, "is out of range", "-1, or 16 to 1048576, a multiple of 16");
  return kPerChannel;
}

int read_bits(const ConfigReader& config, std::string_view key) {
  return static_cast<int>(config.required_size(key, kMostBits));
}

void set_fp8(int group_size, Quantization& result) {
  set_float(WeightType::kE4m3, 8, group_size, DType::kFp32, result);
}

void set_mxfp8(Quantization& result) { set_float(WeightType::kE4m3, 8, 32, DType::kE8m0, result); }

void set_mxfp4(Quantization& result) { set_float(WeightType::kE2m1, 4, 32, DType::kE8m0, result); }

void set_nvfp4(Quantization& result) {
  set_float(WeightType::kE2m1, 4, 16, DType::kE4m3, result);
  result.weight.tensor_scale = true;
}

int read_block_columns(const ConfigReader& config, std::string_view key) {
  const std::vector<std::int64_t> sides = config.integers(key);
  if (sides.empty()) return kPerTensor;
  if (sides.size() == 2 && sides[0] >= 1 && sides[1] >= kGroupStep && sides[1] <= kLargestGroup &&
      sides[1] % kGroupStep == 0) {
    return static_cast<int>(sides[1]);
  }
  config.add("out_of_range", key, "is no block of rows and columns",
             "two integers, the second one from 16 to 1048576, a multiple of 16");
  return kPerTensor;
}

void note_exceptions(const ConfigReader& config, std::string_view key, Quantization& result) {
  for (const std::string& module : config.strings(key)) {
    if (module.find("lm_head") != std::string::npos) {
      result.lm_head = false;
      continue;
    }
    result.notes.push_back(quoted(module) +
                           " is not quantised in the checkpoint: it needs no kernel");
  }
}

void note_activations(Quantization& result) {
  result.notes.emplace_back(
      "the scheme quantises activations, too: the kernels take them in 16 bits, which is at least "
      "as accurate, and need no scales for them");
}

void note_act_order(Quantization& result) {
  result.act_order = true;
  result.notes.emplace_back(
      "act-order: launches take the order of the columns of X (heddle_perm in a repacked "
      "checkpoint); a layer that is split along K over several GPUs needs columns of X from all");
}

}  // namespace heddle
