// Why a stream does not serve a spec.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_REFUSE_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_REFUSE_H_

#include <vector>

#include "generator/families/gemm_request.h"
#include "generator/families/refuse.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// As GemmFamily::exclusions_for() and refusals_for(), of the family of 16 bits or of 8.
std::vector<Problem> stream_exclusions(const GemmSpec& spec, const Target& target, const MRange& m);
std::vector<Problem> stream_refusals(const Family& family, const GemmRequest& gemm,
                                     const MRange& m);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_REFUSE_H_
