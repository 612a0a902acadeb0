// When the kernel after a GEMM of few tokens may take its places on the SMs, to have its first
// weights by the time its tokens are there.
#ifndef HEDDLE_GENERATOR_FAMILIES_STREAM_NEXT_START_H_
#define HEDDLE_GENERATOR_FAMILIES_STREAM_NEXT_START_H_

#include "generator/families/fields.h"
#include "heddle/target.h"
#include "stream/config.h"

namespace heddle {

// Whether the next kernel's blocks may start while a stream's run. Blocks of few tokens fit twice
// on an SM: if none has room beside this one's, the SMs that are free first would get two of them,
// others none, and the next kernel would take twice as long.
bool lets_next_start(const device::StreamConfig& stream, const Target& target);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_STREAM_NEXT_START_H_
