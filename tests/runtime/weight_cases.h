// Weights with every way of decoding and scaling, for the tests that compile GEMMs.
#ifndef HEDDLE_TESTS_RUNTIME_WEIGHT_CASES_H_
#define HEDDLE_TESTS_RUNTIME_WEIGHT_CASES_H_

#include "heddle/spec.h"

namespace heddle {

struct WeightCase {
  int bits;
  int group_size;
  ZeroPoint zero_point;
  DType scale_dtype;
  WeightType type = WeightType::kUint;
};

// A scale type other than the activation's keeps the scale on the sums, for any number of tokens.
inline constexpr WeightCase kWeightCases[] = {
    {4, 128, ZeroPoint::kNone, DType::kFp16},
    {4, 128, ZeroPoint::kInt, DType::kBf16},
    {4, 16, ZeroPoint::kInt, DType::kFp16},
    {4, 32, ZeroPoint::kNone, DType::kFp32},
    {4, 64, ZeroPoint::kInt, DType::kBf16},
    {4, kPerChannel, ZeroPoint::kInt, DType::kFp32},
    {1, 32, ZeroPoint::kInt, DType::kBf16},
    {2, 16, ZeroPoint::kInt, DType::kFp32},
    {3, 64, ZeroPoint::kInt, DType::kFp32},
    {5, 128, ZeroPoint::kInt, DType::kBf16},
    {6, 32, ZeroPoint::kNone, DType::kFp16},
    {7, kPerChannel, ZeroPoint::kInt, DType::kBf16},
    {8, 128, ZeroPoint::kInt, DType::kFp16},
    {8, 128, ZeroPoint::kNone, DType::kFp32, WeightType::kE4m3},
    {4, 32, ZeroPoint::kNone, DType::kE8m0, WeightType::kE2m1},
    {4, 64, ZeroPoint::kNone, DType::kFp16, WeightType::kNf4},
    {8, 128, ZeroPoint::kNone, DType::kFp16, WeightType::kE4m3},
    {4, 128, ZeroPoint::kNone, DType::kBf16, WeightType::kE2m1},
    {4, 16, ZeroPoint::kNone, DType::kE4m3, WeightType::kE2m1},
};

inline WeightSpec weight_of(const WeightCase& c) {
  WeightSpec weight;
  weight.bits = c.bits;
  weight.group_size = c.group_size;
  weight.zero_point = c.zero_point;
  weight.scale_dtype = c.scale_dtype;
  weight.type = c.type;
  return weight;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_RUNTIME_WEIGHT_CASES_H_
