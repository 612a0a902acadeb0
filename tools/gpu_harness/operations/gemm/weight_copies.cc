#include "tools/gpu_harness/operations/gemm/weight_copies.h"

#include <algorithm>
#include <utility>

#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr std::int64_t kUnitRows = 8 * WeightLayout::kRowBlock;

// Row blocks follow each other in every part of the layout, so a part is its first ones, repeated.
DeviceBuffer packed_of(const GemmSpec& spec, const std::vector<std::uint8_t>& unit,
                       const OwnedStream& stream) {
  const WeightLayout whole = weight_layout(spec);
  const WeightLayout part = weight_layout(spec_of_unit(spec));
  const std::size_t channel_bytes = part.tensor_offset - part.channel_offset;
  DeviceBuffer packed(whole.total_bytes);
  packed.upload(unit.data(), part.channel_offset, stream);
  packed.repeat(0, part.channel_offset, whole.channel_offset, stream);
  packed.upload(unit.data() + part.channel_offset, channel_bytes, stream, whole.channel_offset);
  packed.repeat(whole.channel_offset, channel_bytes, whole.tensor_offset, stream);
  packed.upload(unit.data() + part.tensor_offset, part.total_bytes - part.tensor_offset, stream,
                whole.tensor_offset);
  return packed;
}

std::vector<DeviceBuffer> copies_of(DeviceBuffer original, std::size_t copies,
                                    const OwnedStream& stream) {
  std::vector<DeviceBuffer> buffers;
  buffers.push_back(std::move(original));
  while (buffers.size() < copies) {
    DeviceBuffer copy(buffers.front().bytes());
    copy.copy_from(buffers.front(), stream);
    buffers.push_back(std::move(copy));
  }
  stream.synchronize();
  return buffers;
}

}  // namespace

GemmSpec spec_of_unit(const GemmSpec& spec) {
  // Gates and ups have whole blocks of scales each.
  const bool pairs_of_blocks = spec.weight.has_blocks() && spec.epilogue.gated;
  GemmSpec unit = spec;
  unit.shape.n = std::min(spec.shape.n, pairs_of_blocks ? 2 * kUnitRows : kUnitRows);
  return unit;
}

WeightCopies::WeightCopies(const GemmSpec& spec, const HelperKernels& helpers,
                           const OwnedStream& stream, std::size_t copies)
    : spec_(spec),
      helpers_(helpers),
      stream_(stream),
      unit_(spec_of_unit(spec), kBenchSeed, stream) {
  DeviceBuffer packed = packed_of(spec, unit_.packed(), stream);
  if (copies == 0) copies = copies_for(packed.bytes());
  packed_ = copies_of(std::move(packed), copies, stream);
}

const std::vector<DeviceBuffer>& WeightCopies::rounded() {
  if (!rounded_.empty()) return rounded_;
  const DeviceBuffer unit = unit_.rounded(helpers_, stream_);
  DeviceBuffer whole(static_cast<std::size_t>(2 * spec_.shape.n * spec_.shape.k));
  whole.copy_from(unit, stream_);
  whole.repeat(0, unit.bytes(), whole.bytes(), stream_);
  const std::size_t copies = copies_for(whole.bytes());
  rounded_ = copies_of(std::move(whole), copies, stream_);
  return rounded_;
}

}  // namespace heddle
