// The choice of kernels for a GEMM: candidates of every family, their predicted times, the fastest.
#ifndef HEDDLE_GENERATOR_PLANNER_CHOOSE_H_
#define HEDDLE_GENERATOR_PLANNER_CHOOSE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/gemm_family.h"
#include "heddle/plan.h"

namespace heddle {

// A candidate with its predicted time for some M.
struct Candidate {
  const GemmFamily* family = nullptr;
  GemmVariant variant;
  double us = 0;
};

// Numbers of tokens that kernels are chosen for, ascending, the last is m_max: between two of them
// the same kernel serves.
std::vector<std::int64_t> token_steps(std::int64_t m_min, std::int64_t m_max);

// Every candidate for a range of M, predicted for its last, the fastest first; the same for the
// same plan. Precondition: a gemm's plan whose spec, target, decode and layout are set.
std::vector<Candidate> gemm_candidates(const Plan& plan, const MRange& m);

// Kernels for all M of the spec, ascending: kMostKernels at most. Each is among the fastest
// candidates of the last step of M that it serves, and takes at most kSameTime times the best time
// of every step, or the lowest power of kSameTime with which there are few enough kernels. Of all
// such choices this one has the lowest product of times, where each kernel counts as
// kKernelIsWorth. Throws Error(kUnsupported) with the reasons of families if there is no candidate.
std::vector<Candidate> choose_kernels(const Plan& plan);

// The predicted time of a planned kernel. Preconditions: it is one of a gemm's plan and serves m.
double predicted_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m);

// GemmFamily::label() of it.
std::string kernel_label(const PlannedKernel& kernel);

inline constexpr double kSameTime = 1.03;
inline constexpr std::size_t kMostKernels = 8;
// Of the time at one step: a kernel that saves less is not worth compiling.
inline constexpr double kKernelIsWorth = 1.02;
// Candidates of a step, the fastest first, that may serve smaller M than those of the step, too.
inline constexpr std::size_t kMostExtended = 8;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_CHOOSE_H_
