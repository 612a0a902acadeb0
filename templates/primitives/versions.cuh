// What depends on the version of the compiler, which NVRTC and nvcc both tell: the text that they
// get is the same for all of them.
#pragma once

#define HEDDLE_COMPILER_AT_LEAST(major, minor) \
  (__CUDACC_VER_MAJOR__ > (major) ||           \
   (__CUDACC_VER_MAJOR__ == (major) && __CUDACC_VER_MINOR__ >= (minor)))

// Whether there are conversions between 8-bit floats and others: from sm_89 on, of which 12.0 does
// not know it yet.
#define HEDDLE_CONVERTS_FP8 \
  (__CUDA_ARCH__ >= 900 || (__CUDA_ARCH__ >= 890 && HEDDLE_COMPILER_AT_LEAST(12, 1)))
