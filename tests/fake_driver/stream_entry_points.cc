// Streams, what is captured in them, and the graphs that this makes. Each launch of a replay takes
// a microsecond.
#include <utility>

#include "call.h"
#include "entry_points.h"

namespace heddle::fake {
namespace {

// A graph that can be launched is one, too.
FakeGraph* find_graph(const void* graph) {
  for (FakeGraph* known : state().graphs) {
    if (known == graph) return known;
  }
  return nullptr;
}

CUresult destroy(const void* graph) {
  FakeGraph* found = find_graph(graph);
  if (found == nullptr) return kInvalidValue;
  state().graphs.erase(found);
  delete found;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  const Call call("cuStreamCreate", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  auto* made = new FakeStream;
  state().streams.insert(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  const Call call("cuStreamDestroy");
  auto* found = reinterpret_cast<FakeStream*>(stream);
  if (state().streams.erase(found) == 0) return kInvalidValue;
  delete found;
  return call.result;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  const Call call("cuStreamBeginCapture", InCapture::kAllowed);
  FakeStream* found = find_stream(stream);
  if (found == nullptr || found->capturing) return kInvalidValue;
  found->capturing = true;
  found->mode = mode;
  found->thread = std::this_thread::get_id();
  found->capture = ++state().captures;
  found->broken = false;
  found->captured.clear();
  return call.result;
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return cuStreamBeginCapture(stream, mode);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const Call call("cuStreamEndCapture", InCapture::kAllowed);
  FakeStream* found = find_stream(stream);
  if (found == nullptr || !found->capturing) return kInvalidValue;
  found->capturing = false;
  *graph = nullptr;
  if (found->broken) return static_cast<CUresult>(901);
  if (call.result != CUDA_SUCCESS) return call.result;
  auto* made = new FakeGraph{std::move(found->captured)};
  state().graphs.insert(made);
  *graph = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, std::uint64_t) {
  const Call call("cuGraphInstantiateWithFlags");
  const FakeGraph* found = find_graph(graph);
  if (found == nullptr) return kInvalidValue;
  if (call.result != CUDA_SUCCESS) return call.result;
  auto* made = new FakeGraph(*found);
  state().graphs.insert(made);
  *executable = reinterpret_cast<CUgraphExec>(made);
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  const Call call("cuGraphLaunch");
  const FakeGraph* found = find_graph(executable);
  if (found == nullptr || find_stream(stream) == nullptr) return kInvalidValue;
  if (call.result != CUDA_SUCCESS) return call.result;
  make_copies(stream);
  for (const Work& work : found->work) work();
  state().replayed += found->work.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  const Call call("cuGraphExecDestroy");
  return call.result != CUDA_SUCCESS ? call.result : destroy(executable);
}
CUresult cuGraphDestroy(CUgraph graph) {
  const Call call("cuGraphDestroy");
  return call.result != CUDA_SUCCESS ? call.result : destroy(graph);
}
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, std::uint64_t* id,
                                CUgraph*, const CUgraphNode**, std::size_t*) {
  const Call call("cuStreamGetCaptureInfo", InCapture::kAllowed);
  if (call.result != CUDA_SUCCESS) return call.result;
  if (stream == nullptr && context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const FakeStream* found = find_stream(stream);
  *status = found != nullptr && found->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                 : CU_STREAM_CAPTURE_STATUS_NONE;
  if (found != nullptr && found->capturing) *id = found->capture;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
  const Call call("cuThreadExchangeStreamCaptureMode", InCapture::kAllowed);
  if (call.result == CUDA_SUCCESS) std::swap(*mode, capture_mode());
  return call.result;
}

}  // extern "C"

}  // namespace heddle::fake
