// A tuned table that chooses otherwise than the model of times does.
#ifndef HEDDLE_TESTS_RUNTIME_SLOWEST_TABLE_H_
#define HEDDLE_TESTS_RUNTIME_SLOWEST_TABLE_H_

#include <gtest/gtest.h>

#include <string>

#include "generator/families/gemm_family.h"
#include "generator/planner/choose.h"
#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"

namespace heddle::testing {

// It has the slowest kernel for the spec and all of its M; `label` is that kernel's.
inline TunedTable slowest_table(const Spec& spec, const char* gpu, std::string* label) {
  const Plan plan = resolve(spec, target_from_name(gpu), TunedTables());
  const GemmSpec& gemm = spec.gemm();
  const PlannedKernel slowest =
      all_candidates(plan, {gemm.shape.m_min, gemm.shape.m_max}).back().kernel;
  TunedEntry entry;
  entry.weight = gemm.weight;
  entry.activation = gemm.activation;
  entry.n = gemm.shape.n;
  entry.k = gemm.shape.k;
  entry.m_first = gemm.shape.m_min;
  entry.m_last = gemm.shape.m_max;
  entry.family = slowest.family->name();
  entry.family_version = gemm_family_of(slowest).version();
  entry.kernel = *label = kernel_label(slowest);
  EXPECT_NE(kernel_label(plan.kernels.front()), *label);
  return TunedTable::from_entries(gpu, {entry});
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_SLOWEST_TABLE_H_
