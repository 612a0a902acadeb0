// The streams that could serve a GEMM: how K and the rows are shared, and how long stages are.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_CANDIDATES_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_CANDIDATES_H_

#include <vector>

#include "generator/families/gemm_family.h"
#include "generator/families/gemm_request.h"

namespace heddle {

// As GemmFamily::candidates_for(), of the family of 16 bits or of 8.
std::vector<PlannedKernel> stream_candidates(const Family& family, const GemmRequest& gemm,
                                             const MRange& m);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_CANDIDATES_H_
