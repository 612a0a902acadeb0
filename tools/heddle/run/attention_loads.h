// The loads that `heddle bench` times decode_attention with, as they are written on a command line.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_ATTENTION_LOADS_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_ATTENTION_LOADS_H_

#include <string>
#include <vector>

#include "tools/gpu_harness/harness.h"

namespace heddle {

// "64x8192": 64 sequences of 8192 tokens; "64x1-16384": of lengths from 1 to 16384, drawn. Throws
// Error(kUsage) with the code "tool.load" for anything else.
AttentionLoad parse_attention_load(const std::string& text);
std::vector<AttentionLoad> parse_attention_loads(const std::vector<std::string>& texts);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_ATTENTION_LOADS_H_
