// GEMMs at random for the tests of the planner: the same seed draws the same ones.
#ifndef HEDDLE_TESTS_GENERATOR_PLANNER_GEMM_DRAWS_H_
#define HEDDLE_TESTS_GENERATOR_PLANNER_GEMM_DRAWS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

#include "generator/target/capabilities.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "tests/plain_weight.h"

namespace heddle {

struct GemmDraw {
  GemmSpec spec;
  Target target;

  std::string text() const {
    return Spec::from_gemm(spec).canonical_json() + " for " + target.name;
  }
};

// Specs without a tile that the target serves.
class GemmDraws {
 public:
  explicit GemmDraws(unsigned seed) : random_(seed) {}

  GemmDraw next(const Target& target) {
    GemmDraw draw{{}, target};
    GemmSpec& spec = draw.spec;
    spec.activation = target.arch() < 80 ? DType::kFp16 : one_of({DType::kFp16, DType::kBf16});
    draw_weight(spec);
    draw_shape(spec);
    spec.epilogue.bias = one_of({false, false, false, true});
    spec.epilogue.residual = one_of({false, false, false, true});
    spec.act_order = one_of({false, false, false, true});
    spec.pre_scale = one_of({false, false, false, true});
    if (one_of({false, false, false, true})) spec.path = path_of(spec, target);
    return draw;
  }

 private:
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  // As many between 1 and 10 as between 10 and 100.
  std::int64_t up_to(double least, double most) {
    const double part = static_cast<double>(random_() % 10000) / 10000;
    return static_cast<std::int64_t>(least * std::pow(most / least, part));
  }

  void draw_weight(GemmSpec& spec) {
    WeightSpec& weight = spec.weight;
    weight.scale_dtype = one_of({spec.activation, spec.activation, DType::kFp32});
    weight.group_size = one_of({kPerChannel, 32, 64, 128, 128, 128});
    switch (random_() % 9) {
      case 0:
        weight.type = WeightType::kE4m3;
        weight.bits = 8;
        return;
      case 1:
        weight.type = WeightType::kE2m1;
        weight.group_size = 16;
        weight.scale_dtype = DType::kE4m3;
        weight.tensor_scale = true;
        return;
      case 2:
        weight.type = WeightType::kE2m1;
        weight.group_size = 32;
        weight.scale_dtype = DType::kE8m0;
        return;
      case 3:
        weight.type = WeightType::kNf4;
        return;
      case 4:
        weight = plain_weight(spec.activation);
        return;
      default:
        weight.bits = one_of({1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 8});
        weight.zero_point =
            one_of({ZeroPoint::kNone, ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat});
    }
  }

  void draw_shape(GemmSpec& spec) {
    spec.shape.n = 8 * up_to(1, 8192);
    spec.shape.k = 128 * up_to(1, 256);
    spec.shape.m_min = one_of<std::int64_t>({1, 1, 1, up_to(1, 300)});
    spec.shape.m_max =
        std::max(spec.shape.m_min, one_of({up_to(1, 16), up_to(1, 8192), kDefaultMaxM}));
  }

  // One that serves whatever was drawn.
  Path path_of(const GemmSpec& spec, const Target& target) {
    if (target.arch() < 80) return Path::kTuring;
    const bool streams = has_multicast(target) && spec.shape.m_min <= 8 &&
                         spec.weight.zero_point != ZeroPoint::kFloat;
    if (streams && one_of({false, true})) return Path::kHopper;
    return spec.activation == DType::kBf16 ? Path::kAmpere : one_of({Path::kTuring, Path::kAmpere});
  }

  std::mt19937 random_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_PLANNER_GEMM_DRAWS_H_
