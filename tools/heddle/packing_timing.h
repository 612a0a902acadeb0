// PackingTiming as the benches of several operations print it.
#ifndef HEDDLE_TOOLS_HEDDLE_PACKING_TIMING_H_
#define HEDDLE_TOOLS_HEDDLE_PACKING_TIMING_H_

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "heddle/target.h"
#include "tools/gpu_harness/packing_bench.h"

namespace heddle {

// Behind what says which launch was timed.
inline void add_timing(const PackingTiming& timing, nlohmann::ordered_json* json) {
  json->update({{"us", timing.us},
                {"gb_per_s", timing.gb_per_s},
                {"read_bytes", timing.read_bytes},
                {"written_bytes", timing.written_bytes},
                {"stream_us", timing.stream_us},
                {"stream_ratio", timing.stream_ratio()}});
}

inline std::string stream_legend(const Target& device) {
  return fmt::format("{}: STREAM is a plain copy of as many bytes in this run\n", device.name);
}

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_PACKING_TIMING_H_
