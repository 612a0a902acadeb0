// Times launches by replaying them from a CUDA graph.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_GRAPH_TIMER_H_
#define HEDDLE_TOOLS_GPU_HARNESS_GRAPH_TIMER_H_

#include <functional>

#include "tools/gpu_harness/device_memory.h"

namespace heddle {

// Captures launch(0) ... launch(launches - 1), which must enqueue on `stream` only, replays the
// graph `replays` times after two for warming up, and returns the median microseconds per launch.
// Needs a current context. Throws Error(kDriver), and what `launch` throws.
double time_in_graph(const OwnedStream& stream, int launches, int replays,
                     const std::function<void(int)>& launch);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_GRAPH_TIMER_H_
