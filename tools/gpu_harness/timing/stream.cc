#include "tools/gpu_harness/timing/stream.h"

#include "tools/gpu_harness/timing/rotation.h"

namespace heddle {
namespace {

constexpr std::size_t kReadBytes = std::size_t{2} << 30;
constexpr int kReadReplays = 9;
constexpr unsigned char kAnyByte = 0x35;

std::vector<const DeviceBuffer*> pointers_to(const std::vector<DeviceBuffer>& buffers) {
  std::vector<const DeviceBuffer*> pointers;
  pointers.reserve(buffers.size());
  for (const DeviceBuffer& buffer : buffers) pointers.push_back(&buffer);
  return pointers;
}

}  // namespace

double read_rate(const HelperKernels& helpers, const OwnedStream& stream) {
  DeviceBuffer data(kReadBytes);
  DeviceBuffer out(16);
  data.fill(1, stream);
  const double us = time_in_graph(stream, 4, kReadReplays, [&](int) {
    helpers.stream_read(data.get(), kReadBytes, out.get(), stream);
  });
  return static_cast<double>(kReadBytes) / us * 1e-6;
}

StreamTiming fastest_stream(const HelperKernels& helpers, const OwnedStream& stream,
                            const std::vector<const DeviceBuffer*>& sources,
                            const std::vector<const DeviceBuffer*>& outputs,
                            const TimingBudget& budget) {
  const auto round = static_cast<int>(sources.size());
  StreamTiming fastest;
  for (const int words : {1, 2, 4}) {
    for (const unsigned int blocks_per_sm : {0U, 4U, 8U}) {
      const StreamShape shape{words, blocks_per_sm};
      const double us = time_in_graph(stream, round, budget, [&](int i) {
        const DeviceBuffer& from = *turn_of(sources, static_cast<std::size_t>(i));
        const DeviceBuffer& to = *turn_of(outputs, static_cast<std::size_t>(i));
        helpers.stream_copy(from.get(), from.bytes(), to.get(), to.bytes(), shape, stream);
      });
      if (fastest.us == 0 || us < fastest.us) fastest = {us, shape};
    }
  }
  return fastest;
}

void time_stream(const OwnedStream& stream, const TimingBudget& budget, Timing* timing) {
  // The copy takes whole words of 16 bytes.
  const std::size_t read = (timing->read_bytes + 15) / 16 * 16;
  const std::size_t written = (timing->written_bytes + 15) / 16 * 16;
  const std::size_t copies = copies_for(read + written);
  const std::vector<DeviceBuffer> from = rotating_buffers(copies, read, kAnyByte, stream);
  const std::vector<DeviceBuffer> to = rotating_buffers(copies, written, kAnyByte, stream);
  timing->stream =
      fastest_stream(HelperKernels(), stream, pointers_to(from), pointers_to(to), budget);
}

}  // namespace heddle
