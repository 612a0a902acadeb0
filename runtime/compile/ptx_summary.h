// What a kernel is made of: counts of the instructions that matter, from its PTX.
#ifndef HEDDLE_RUNTIME_COMPILE_PTX_SUMMARY_H_
#define HEDDLE_RUNTIME_COMPILE_PTX_SUMMARY_H_

#include <map>
#include <string>
#include <string_view>

namespace heddle {

// Counts of instructions in the text, not of executions: a loop's body counts once.
struct PtxSummary {
  int instructions = 0;
  // By kind, every one of them present, also with 0: "lop3", "prmt", "mma", "wgmma", "ldmatrix",
  // "cp.async", "cp.async.bulk", "sub.x2", "fma.x2" (f16x2 and bf16x2), "barrier".
  std::map<std::string, int> counts;
  // By space and width of one thread's access: "ld.global.b128", "st.shared.b32". Vectors count
  // with their whole width: v4 of 32 bits is b128.
  std::map<std::string, int> memory;
};

// Pure. `ptx` may hold any number of kernels; an unknown instruction counts only as one.
PtxSummary summarize_ptx(std::string_view ptx);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_PTX_SUMMARY_H_
