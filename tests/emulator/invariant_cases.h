// Kernels of batch-invariant specs that are run on the CPU, in groups: those of a group compute one
// problem, and all but the last of it have one arithmetic (Family::arithmetic()).
#ifndef HEDDLE_TESTS_EMULATOR_INVARIANT_CASES_H_
#define HEDDLE_TESTS_EMULATOR_INVARIANT_CASES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"

namespace heddle {

// What a kernel's entry point takes.
enum class InvariantKind {
  kGemm,  // tiles by cp.async, streams
  kBulk,
  kWgmma,
  kWgmmaBytes,
  kWgmmaBlocks,
  kByteTiles,
  kMoe,  // but those by wgmma
  kMoeWgmma,
};

struct InvariantKernel {
  Plan plan;  // of the kernel, for all sizes of the spec
  InvariantKind kind{};
  std::size_t number = 0;  // among all kernels of the kind
  std::string arithmetic;
};

struct InvariantGroup {
  std::string name;
  // For few and many tokens, of different tiles. The last one adds in another way.
  std::vector<InvariantKernel> kernels;
};

const std::vector<InvariantGroup>& invariant_groups();

// The plans of all kernels of the kind.
template <InvariantKind kKind>
std::vector<Plan> invariant_plans() {
  std::vector<Plan> plans;
  for (const InvariantGroup& group : invariant_groups()) {
    for (const InvariantKernel& kernel : group.kernels) {
      if (kernel.kind == kKind) plans.push_back(kernel.plan);
    }
  }
  return plans;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_INVARIANT_CASES_H_
