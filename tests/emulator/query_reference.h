// What kv_append makes of Q, from its formulas in FP64, with no code of the kernel's or the host's.
#ifndef HEDDLE_TESTS_EMULATOR_QUERY_REFERENCE_H_
#define HEDDLE_TESTS_EMULATOR_QUERY_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/kv_append/problem.h"

namespace heddle {

// The first element of Q's output that is further from the formulas than its last rounding and
// FP32 explain; empty if there is none. Rows with infinities, NaN or values whose squares FP32 does
// not hold are left out, and so are tokens that are not written. Precondition: the spec has a query
// and no table of rotations, and no token of the problem has a negative position.
std::string query_difference(const KvAppendSpec& spec, const KvProblem& problem,
                             const std::vector<std::uint8_t>& output);

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_QUERY_REFERENCE_H_
