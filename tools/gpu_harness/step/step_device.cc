#include "tools/gpu_harness/step/step_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "decode_attention/config.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr std::uint32_t kEmbeddingSeed = 3;

}  // namespace

void check_step_load(const DecodeStep& step, const StepLoad& load) {
  for (const Spec& spec : step.kernels) {
    const MRange range = spec.has_m() ? spec.m_range() : MRange{1, device::kMostSequences};
    if (load.sequences >= range.min && load.sequences <= range.max) continue;
    throw Error(ErrorCategory::kUsage, "step.batch",
                fmt::format("{} takes {} to {} sequences, not {}", spec.name(), range.min,
                            range.max, load.sequences));
  }
}

StepDevice::StepDevice(const DecodeStep& step, const std::vector<Kernel>& kernels,
                       const std::vector<std::unique_ptr<StepWeights>>& weights,
                       const StepLoad& load, const HelperKernels& helpers,
                       const OwnedStream& stream)
    : step_(step),
      kernels_(kernels),
      helpers_(helpers),
      shared_{stream, load, {}, {}, {}, {}, {}},
      caches_(step, load, stream),
      dtype_(step.kernels.front().row_transform().input) {
  make_buffers();
  connect(weights);
  stream.synchronize();
}

void StepDevice::make_buffers() {
  const OwnedStream& stream = shared_.stream;
  std::size_t most = 0;
  std::size_t workspace = 0;
  std::size_t heads = 0;
  const auto sequences = static_cast<std::size_t>(shared_.load.sequences);
  for (std::size_t i = 0; i < step_.kernels.size(); ++i) {
    const StepNeeds needs = needs_of(i);
    most = std::max({most, 2 * static_cast<std::size_t>(needs.in),
                     static_cast<std::size_t>(needs.out * bytes_of(needs.out_dtype))});
    workspace = std::max(workspace, kernels_[i].max_workspace_bytes());
    heads = std::max(heads, needs.heads);
    if (needs.rotations * sizeof(float) > shared_.rotations.bytes()) {
      shared_.rotations = to_device(std::vector<float>(needs.rotations, 0.7F), stream);
    }
  }
  for (DeviceBuffer& buffer : activations_) {
    buffer = DeviceBuffer(sequences * most);
    buffer.fill(0, stream);
  }
  const auto hidden = static_cast<std::size_t>(needs_of(0).out);
  embeddings_ = DeviceBuffer(2 * sequences * hidden);
  shared_.residual = DeviceBuffer(embeddings_.bytes());
  helpers_.fill_normal(embeddings_.get(), sequences * hidden, kEmbeddingSeed, 1.0F, dtype_, stream);
  shared_.lengths = to_device(std::vector<std::int32_t>(sequences, shared_.load.context), stream);
  shared_.heads = to_device(std::vector<float>(heads, 0.01F), stream);
  shared_.workspace = DeviceBuffer(workspace);
  shared_.workspace.fill(0, stream);
}

void StepDevice::begin() const {
  helpers_.copy_words(embeddings_.get(), shared_.residual.get(), shared_.residual.bytes() / 4,
                      shared_.stream);
}

void StepDevice::connect(const std::vector<std::unique_ptr<StepWeights>>& weights) {
  std::vector<std::size_t> turns(step_.kernels.size());
  std::size_t next = 0;  // the buffer that the next launch reads
  for (std::size_t i = 0; i < step_.launches.size(); ++i) {
    const auto [kernel, layer, aside] = step_.launches[i];
    const DeviceBuffer& in = i == 0 ? shared_.residual : activations_[next];
    if (!aside) next = 1 - next;
    DeviceBuffer& out = activations_[aside ? 2 : next];
    const StepNeeds needs = needs_of(kernel);
    outputs_.push_back(
        {&out, static_cast<std::size_t>(shared_.load.sequences * needs.out), needs.out_dtype});
    const StepPlace place{kernels_[kernel], turns[kernel]++, in, out, caches_.of_layer(layer)};
    launches_.push_back(
        step_part_of(step_.kernels[kernel]).launch(place, shared_, weights[kernel].get()));
  }
}

}  // namespace heddle
