// Why the path hopper, which a spec asks for, has no stream.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_REFUSE_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_REFUSE_H_

#include <vector>

#include "generator/families/refuse.h"
#include "heddle/inspect/plan.h"

namespace heddle {

std::vector<Problem> refuse_stream(const GemmSpec& spec);
// Why X of eight bits, which no other family multiplies by such weights there, has none: of the
// spec's tile, and of M tokens. `most`: tokens that a stream serves, 0 if it serves none.
std::vector<Problem> refuse_byte_stream_tile();
std::vector<Problem> refuse_long_rows(const Plan& plan, const MRange& m, std::int64_t most);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_REFUSE_H_
