#include "tools/gpu_harness/stream_bench.h"

namespace heddle {

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
        const DeviceBuffer& from = *sources[static_cast<std::size_t>(i) % sources.size()];
        const DeviceBuffer& to = *outputs[static_cast<std::size_t>(i) % outputs.size()];
        helpers.stream_copy(from.get(), from.bytes(), to.get(), to.bytes(), shape, stream);
      });
      if (fastest.us == 0 || us < fastest.us) fastest = {us, shape};
    }
  }
  return fastest;
}

}  // namespace heddle
