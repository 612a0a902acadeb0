#include "tools/gpu_harness/read_rate.h"

#include <cstddef>

#include "tools/gpu_harness/graph_timer.h"

namespace heddle {
namespace {

constexpr std::size_t kReadBytes = std::size_t{2} << 30;
constexpr int kReadReplays = 9;

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

}  // namespace heddle
