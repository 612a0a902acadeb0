// Streams, what is captured in them, and its replays. A graph is no more than the number of its
// launches, and each launch of a replay takes a microsecond.
#include <utility>

#include "call.h"
#include "entry_points.h"

namespace heddle::fake {

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
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  const Call call("cuStreamBeginCapture", InCapture::kAllowed);
  FakeStream* found = find_stream(stream);
  if (found == nullptr || found->capturing) return kInvalidValue;
  found->capturing = true;
  found->capture = ++state().captures;
  found->broken = false;
  found->launches = 0;
  return call.result;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const Call call("cuStreamEndCapture", InCapture::kAllowed);
  FakeStream* found = find_stream(stream);
  if (found == nullptr || !found->capturing) return kInvalidValue;
  found->capturing = false;
  *graph = reinterpret_cast<CUgraph>(found->broken ? 0 : found->launches);
  return found->broken ? static_cast<CUresult>(901) : call.result;
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

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  const Call call("cuGraphInstantiateWithFlags");
  *exec = reinterpret_cast<CUgraphExec>(graph);
  return call.result;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream) {
  const Call call("cuGraphLaunch");
  if (call.result == CUDA_SUCCESS) state().replayed += reinterpret_cast<std::uintptr_t>(exec);
  return call.result;
}
CUresult cuGraphExecDestroy(CUgraphExec) { return Call("cuGraphExecDestroy").result; }
CUresult cuGraphDestroy(CUgraph) { return Call("cuGraphDestroy").result; }

}  // extern "C"

}  // namespace heddle::fake
