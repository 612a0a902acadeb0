// GEMMs of two operands of eight bits that every family of kernels for them is run with: shapes
// that divide nothing, pairs of types, scales and zero points, and what surrounds the product.
#ifndef HEDDLE_TESTS_GPU_BYTE_CASES_H_
#define HEDDLE_TESTS_GPU_BYTE_CASES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/byte_gemm.h"
#include "tests/gpu/rotate.h"

namespace heddle {

// One type of each kind of sums: integers, and FP32.
inline const std::vector<DType> kMultipliedBytes{DType::kInt8, DType::kFp8E4m3};

struct ByteGemmCase {
  GemmSpec spec;
  std::vector<std::int64_t> m_list;
};

// Each shape with one of the types.
inline std::vector<ByteGemmCase> ragged_byte_cases(const std::vector<DType>& types) {
  std::vector<ByteGemmCase> cases;
  std::size_t i = 0;
  for (const std::int64_t k : {32, 160, 896, 1056}) {
    for (const std::int64_t n : {8, 24, 128, 264, 1032}) {
      cases.push_back(
          {byte_gemm(n, k, rotate(types, i++)), {1, 2, 9, 16, 17, 40, 64, 100, 200, 600}});
    }
  }
  return cases;
}

inline std::vector<ByteGemmCase> model_byte_cases(const std::vector<DType>& types) {
  return {{byte_gemm(2112, 7168, rotate(types, 0)), {1, 16, 64, 256, 1024}},
          {byte_gemm(576, 7168, rotate(types, 1)), {1, 64, 256, 1024}},
          {byte_gemm(4096, 14336, rotate(types, 2)), {1, 16, 33, 64, 128, 512}}};
}

// For FP8.
inline std::vector<ByteGemmCase> byte_pair_cases() {
  std::vector<ByteGemmCase> cases;
  for (const DType x : {DType::kFp8E4m3, DType::kFp8E5m2}) {
    for (const WeightType w : {WeightType::kE4m3, WeightType::kE5m2}) {
      for (const Accumulation accumulation : {Accumulation::kPromoted, Accumulation::kFast}) {
        GemmSpec spec = byte_gemm(520, 1056, x);
        spec.weight.type = w;
        spec.accumulation = accumulation;
        cases.push_back({spec, {1, 33, 100, 300}});
      }
    }
  }
  return cases;
}

inline std::vector<ByteGemmCase> byte_scale_cases(DType dtype) {
  const std::vector<std::int64_t> m_list{1, 33, 100, 300};
  GemmSpec tensors = byte_gemm(520, 1056, dtype);
  tensors.weight.group_size = kPerTensor;
  tensors.activation_scale.granularity = RowGranularity::kTensor;
  std::vector<ByteGemmCase> cases{{tensors, m_list}};
  if (dtype != DType::kInt8) return cases;
  GemmSpec zeros = byte_gemm(520, 1056, dtype);
  zeros.activation_scale.symmetric = false;
  cases.push_back({zeros, m_list});
  for (const DType scale : {DType::kFp16, DType::kBf16}) {
    GemmSpec spec = byte_gemm(520, 1056, dtype);
    spec.weight.scale_dtype = scale;
    cases.push_back({spec, m_list});
  }
  return cases;
}

// Each with one of the types.
inline std::vector<ByteGemmCase> byte_surroundings(const std::vector<DType>& types) {
  std::vector<ByteGemmCase> cases;
  for (const DType output : {DType::kFp16, DType::kBf16, DType::kFp32}) {
    for (const EpilogueSpec& epilogue :
         {EpilogueSpec{}, EpilogueSpec{true, Activation::kSilu, true},
          EpilogueSpec{true, Activation::kSilu, true, true}}) {
      GemmSpec spec = byte_gemm(528, 1056, rotate(types, cases.size()));
      spec.output = output;
      spec.epilogue = epilogue;
      cases.push_back({spec, {1, 20, 129, 300}});
    }
  }
  return cases;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_BYTE_CASES_H_
