#include "tools/gpu_harness/operations/moe/expert_copies.h"

#include <utility>

#include "tools/gpu_harness/numbers/as_size.h"
#include "tools/gpu_harness/operations/gemm/weight_copies.h"

namespace heddle {
namespace {

DeviceBuffer experts_of(const GemmSpec& gemm, std::int64_t experts, const HelperKernels& helpers,
                        const OwnedStream& stream) {
  const WeightCopies one(gemm, helpers, stream, 1);
  const std::size_t bytes = one.packed().front().bytes();
  DeviceBuffer all(bytes * as_size(experts));
  all.copy_from(one.packed().front(), stream);
  all.repeat(0, bytes, all.bytes(), stream);
  stream.synchronize();
  return all;
}

}  // namespace

ExpertCopies::ExpertCopies(const MoeSpec& spec, const HelperKernels& helpers,
                           const OwnedStream& stream, std::size_t copies)
    : stream_(stream) {
  const MoeGemms gemms = moe_gemms(spec);
  gate_up_.push_back(experts_of(gemms.gate_up, spec.device_experts(), helpers, stream));
  down_.push_back(experts_of(gemms.down, spec.device_experts(), helpers, stream));
  grow_to(copies);
}

void ExpertCopies::grow_to(std::size_t copies) {
  while (gate_up_.size() < copies) {
    for (std::vector<DeviceBuffer>* of : {&gate_up_, &down_}) {
      DeviceBuffer copy(of->front().bytes());
      copy.copy_from(of->front(), stream_);
      of->push_back(std::move(copy));
    }
  }
  stream_.synchronize();
}

}  // namespace heddle
