// Kernels that do nothing but decode: one for every plan that Heddle can make, with the very Decode
// struct that a GEMM of that plan gets.
#ifndef HEDDLE_TESTS_DECODE_KERNELS_DECODE_KERNELS_H_
#define HEDDLE_TESTS_DECODE_KERNELS_DECODE_KERNELS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"
#include "heddle/inspect/source.h"

namespace heddle {

extern const char* const kDecodeRunsText;  // decode_runs.cuh

struct DecodeKernel {
  std::string plan_name;  // of every_decode_request(), and the destination type
  std::string entry;      // the extern "C" kernel, as decode_runs() in decode_runs.cuh takes it:
                          // (const u32* words, const u32* group_words, u32* out, u32 runs)
  DecodePlan plan;
  std::size_t source = 0;  // index of the translation unit that holds it

  // A run is 64 columns: whole units, decoded by one thread.
  int units_per_run() const { return kElementsPerRun / plan.elements(); }

  static constexpr int kElementsPerRun = 32;
};

struct DecodeKernels {
  std::vector<DecodeKernel> kernels;
  std::vector<Source> sources;  // many kernels each, to compile the primitives only a few times
};

// Every plan of every_decode_request(). `arch` is the compiler's: "sm_80", "sm_90a".
DecodeKernels every_decode_kernel(const std::string& arch);

}  // namespace heddle

#endif  // HEDDLE_TESTS_DECODE_KERNELS_DECODE_KERNELS_H_
