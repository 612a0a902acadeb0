// Owners of CUDA events and of graphs that are captured from launches. They need a current context.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_DEVICE_CUDA_GRAPH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_DEVICE_CUDA_GRAPH_H_

#include <functional>

#include "runtime/driver/driver.h"
#include "tools/gpu_harness/device/device_memory.h"

namespace heddle {

class OwnedEvent {
 public:
  OwnedEvent() { cuda::check(cuda::driver().cuEventCreate(&event_, 0), "cuEventCreate"); }
  ~OwnedEvent() { cuda::try_driver(nullptr)->cuEventDestroy(event_); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;

  cuda::CUevent get() const { return event_; }
  void record(const OwnedStream& stream) const {
    cuda::check(cuda::driver().cuEventRecord(event_, stream.get()), "cuEventRecord");
  }

 private:
  cuda::CUevent event_ = nullptr;
};

// Captures launch(0) ... launch(launches - 1), which must enqueue on `stream` only.
class OwnedGraph {
 public:
  OwnedGraph(const OwnedStream& stream, int launches, const std::function<void(int)>& launch) {
    const cuda::Driver& cu = cuda::driver();
    cuda::check(cu.cuStreamBeginCapture(stream.get(), cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                "cuStreamBeginCapture");
    cuda::CUgraph graph = nullptr;
    try {
      for (int i = 0; i < launches; ++i) launch(i);
    } catch (...) {
      cu.cuStreamEndCapture(stream.get(), &graph);
      if (graph != nullptr) cu.cuGraphDestroy(graph);
      throw;
    }
    cuda::check(cu.cuStreamEndCapture(stream.get(), &graph), "cuStreamEndCapture");
    const cuda::CUresult result = cu.cuGraphInstantiateWithFlags(&exec_, graph, 0);
    cu.cuGraphDestroy(graph);
    cuda::check(result, "cuGraphInstantiateWithFlags");
  }
  ~OwnedGraph() { cuda::try_driver(nullptr)->cuGraphExecDestroy(exec_); }
  OwnedGraph(const OwnedGraph&) = delete;
  OwnedGraph& operator=(const OwnedGraph&) = delete;

  void replay(const OwnedStream& stream) const {
    cuda::check(cuda::driver().cuGraphLaunch(exec_, stream.get()), "cuGraphLaunch");
  }

 private:
  cuda::CUgraphExec exec_ = nullptr;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_DEVICE_CUDA_GRAPH_H_
