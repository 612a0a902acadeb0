// CUDA's built-in variables: where the running fiber is.
#ifndef HEDDLE_TESTS_EMULATOR_THREAD_INDEX_H_
#define HEDDLE_TESTS_EMULATOR_THREAD_INDEX_H_

struct Index3 {
  unsigned x, y, z;
};
extern Index3 threadIdx, blockIdx, gridDim;

#endif  // HEDDLE_TESTS_EMULATOR_THREAD_INDEX_H_
