#include "generator/model/cache_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "generator/spec/kv_complete.h"

namespace heddle {
namespace {

// The numbers of a scaling, and what is wrong with those that were asked for.
class Numbers {
 public:
  explicit Numbers(const ModelRope& rope) : rope_(rope) {}

  std::optional<double> find(std::string_view name) const {
    for (const auto& [key, value] : rope_.parameters) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
  float need(std::string_view name, double least, double most) {
    const std::optional<double> value = find(name);
    if (value && *value >= least && *value <= most) return static_cast<float>(*value);
    add_fault(name, value, fmt::format("{} to {}", least, most));
    return 1;
  }
  // Where it is missing or 0, which a config means by a default.
  std::optional<float> some(std::string_view name) {
    if (find(name).value_or(0) == 0) return std::nullopt;
    return need(name, kLeastRopeNumber, kMostRopeNumber);
  }
  std::int64_t positions() {
    constexpr std::string_view kName = "original_max_position_embeddings";
    constexpr double kLongest = std::int64_t{1} << 30;
    const std::optional<double> value = find(kName);
    if (value && *value >= 1 && *value <= kLongest && *value == std::floor(*value)) {
      return static_cast<std::int64_t>(*value);
    }
    add_fault(kName, value, "an integer from 1 to 2^30");
    return 1;
  }
  // "factor is missing, low_freq_factor is -1 (allowed: 0.001 to 1000000)"; empty: nothing is.
  const std::string& faults() const { return faults_; }

  // What a spec takes.
  static constexpr double kLeastRopeNumber = 1e-3;
  static constexpr double kMostRopeNumber = 1e6;

 private:
  void add_fault(std::string_view name, std::optional<double> value, const std::string& allowed) {
    faults_ += fmt::format("{}{} is {}", faults_.empty() ? "" : ", ", name,
                           value ? fmt::format("{} (allowed: {})", *value, allowed) : "missing");
  }

  const ModelRope& rope_;
  std::string faults_;
};

RopeScaling llama3(Numbers& numbers) {
  RopeScaling scaling;
  scaling.type = RopeScalingType::kLlama3;
  scaling.original_max_position_embeddings = numbers.positions();
  scaling.low_freq_factor =
      numbers.need("low_freq_factor", Numbers::kLeastRopeNumber, Numbers::kMostRopeNumber);
  scaling.high_freq_factor =
      numbers.need("high_freq_factor", *scaling.low_freq_factor + Numbers::kLeastRopeNumber,
                   Numbers::kMostRopeNumber);
  return scaling;
}

// Models that have two multipliers divide what logits are scaled by for one by that of the other.
RopeScaling yarn(Numbers& numbers, double factor) {
  RopeScaling scaling;
  scaling.type = RopeScalingType::kYarn;
  scaling.original_max_position_embeddings = numbers.positions();
  scaling.beta_fast = numbers.some("beta_fast");
  scaling.beta_slow = numbers.some("beta_slow");
  scaling.attention_factor = numbers.some("attention_factor");
  const std::optional<float> own = numbers.some("mscale");
  const std::optional<float> of_all = numbers.some("mscale_all_dim");
  if (!scaling.attention_factor && own && of_all) {
    scaling.attention_factor =
        yarn_attention_factor(factor, *own) / yarn_attention_factor(factor, *of_all);
  }
  scaling.truncate = numbers.find("truncate").value_or(1) != 0;
  return scaling;
}

}  // namespace

std::optional<RopeScaling> scaling_of(const ModelRope& rope, std::string* faults) {
  faults->clear();
  Numbers numbers(rope);
  RopeScaling scaling;
  const float factor = numbers.need("factor", 1, Numbers::kMostRopeNumber);
  if (rope.scaling == "linear") {
    scaling.type = RopeScalingType::kLinear;
  } else if (rope.scaling == "llama3") {
    scaling = llama3(numbers);
  } else if (rope.scaling == "yarn") {
    scaling = yarn(numbers, factor);
  } else {
    return std::nullopt;
  }
  scaling.factor = factor;
  *faults = numbers.faults();
  return faults->empty() ? std::optional(scaling) : std::nullopt;
}

HeadNorm head_norm_of(const FamilyRow& family, std::string_view mixer,
                      const ModelAttention& attention, ConfigValues& values) {
  const auto row = std::find_if(family.mixers.begin(), family.mixers.end(),
                                [&](const MixerRow& known) { return known.name == mixer; });
  if (row == family.mixers.end() || !row->attention.append_norms) return {};
  if (attention.qk_norm != QkNorm::kHead || values.value(family.norm.epsilon).is_null()) return {};
  const NormKind kind = values.flag(family.norm.kind_when) ? family.norm.kind : NormKind::kRms;
  HeadNorm norm;
  norm.epsilon = static_cast<float>(values.number(family.norm.epsilon));
  norm.weight_offset = kind == NormKind::kRmsPlusOne ? 1 : 0;
  return norm;
}

}  // namespace heddle
