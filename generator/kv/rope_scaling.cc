#include "generator/kv/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heddle {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

double original_positions(const RopeScaling& scaling) {
  return static_cast<double>(*scaling.original_max_position_embeddings);
}

// `kept`: the weight of the angle as it is, from 0 to 1.
double mixed(double radians, double factor, double kept) {
  return (1 - kept) * (radians / factor) + kept * radians;
}

double llama3(const RopeScaling& scaling, double radians) {
  const double turns = original_positions(scaling) * radians / kTwoPi;
  const double low = *scaling.low_freq_factor;
  const double high = *scaling.high_freq_factor;
  return mixed(radians, *scaling.factor, std::clamp((turns - low) / (high - low), 0.0, 1.0));
}

// The pairs between which yarn's weights fall from 1 to 0.
struct Ramp {
  double first = 0;
  double last = 0;
};

// Number, with a fraction, of the pair that makes so many turns in the original positions.
double pair_of_turns(const RopeSpec& rope, double turns) {
  const double base = static_cast<double>(rope.base);
  return rope.dim * std::log(original_positions(rope.scaling) / (turns * kTwoPi)) /
         (2 * std::log(base));
}

Ramp ramp_of(const RopeSpec& rope) {
  Ramp ramp{pair_of_turns(rope, *rope.scaling.beta_fast),
            pair_of_turns(rope, *rope.scaling.beta_slow)};
  if (rope.scaling.truncate) ramp = {std::floor(ramp.first), std::ceil(ramp.last)};
  ramp = {std::max(ramp.first, 0.0), std::min(ramp.last, static_cast<double>(rope.dim - 1))};
  // What the formulas' source does where a division by zero would follow.
  constexpr double kStep = 0.001;
  if (ramp.first == ramp.last) ramp.last += kStep;
  return ramp;
}

double yarn(const RopeScaling& scaling, const Ramp& ramp, int pair, double radians) {
  const double scaled = std::clamp((pair - ramp.first) / (ramp.last - ramp.first), 0.0, 1.0);
  return mixed(radians, *scaling.factor, 1 - scaled);
}

}  // namespace

std::vector<double> rope_radians(const RopeSpec& rope) {
  const RopeScaling& scaling = rope.scaling;
  Ramp ramp;
  if (scaling.type == RopeScalingType::kYarn) ramp = ramp_of(rope);
  std::vector<double> all;
  for (int i = 0; i < rope.dim / 2; ++i) {
    const double radians =
        std::pow(static_cast<double>(rope.base), -2.0 * i / static_cast<double>(rope.dim));
    switch (scaling.type) {
      case RopeScalingType::kNone:
        all.push_back(radians);
        break;
      case RopeScalingType::kLinear:
        all.push_back(radians / *scaling.factor);
        break;
      case RopeScalingType::kLlama3:
        all.push_back(llama3(scaling, radians));
        break;
      case RopeScalingType::kYarn:
        all.push_back(yarn(scaling, ramp, i, radians));
        break;
    }
  }
  return all;
}

}  // namespace heddle
