// GEMMs of the cases that are run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_SCALED_GEMM_H_
#define HEDDLE_TESTS_EMULATOR_SCALED_GEMM_H_

#include "heddle/spec.h"

namespace heddle {

// With scales of the type of the activations.
inline GemmSpec scaled_gemm(const GemmShape& shape, DType dtype, int group, ZeroPoint zero) {
  GemmSpec spec;
  spec.shape = shape;
  spec.activation = dtype;
  spec.weight.scale_dtype = dtype;
  spec.weight.group_size = group;
  spec.weight.zero_point = zero;
  return spec;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_SCALED_GEMM_H_
