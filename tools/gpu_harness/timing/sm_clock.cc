#include "tools/gpu_harness/timing/sm_clock.h"

#include <cstddef>
#include <utility>

#include "tools/gpu_harness/timing/median.h"

namespace heddle {
namespace {

constexpr std::uint32_t kMostSms = 512;

}  // namespace

SmClock::SmClock(const HelperKernels& helpers, const OwnedStream& stream)
    : helpers_(helpers),
      stream_(stream),
      before_(kMostSms * sizeof(Reading)),
      after_(kMostSms * sizeof(Reading)) {}

void SmClock::start() {
  // SMs that a reading does not come to keep zeros.
  before_.fill(0, stream_);
  after_.fill(0, stream_);
  helpers_.read_clocks(before_.get(), kMostSms, stream_);
}

void SmClock::stop() { helpers_.read_clocks(after_.get(), kMostSms, stream_); }

std::vector<SmClock::Reading> SmClock::readings_of(const DeviceBuffer& buffer) const {
  std::vector<Reading> readings(kMostSms);
  buffer.download(readings.data(), 0, buffer.bytes(), stream_);
  return readings;
}

double SmClock::mhz() const {
  const std::vector<Reading> before = readings_of(before_);
  const std::vector<Reading> after = readings_of(after_);
  std::vector<double> of_sms;
  for (std::size_t sm = 0; sm < before.size(); ++sm) {
    const bool seen = before[sm].nanoseconds > 0 && after[sm].nanoseconds > before[sm].nanoseconds;
    if (!seen) continue;
    of_sms.push_back(1e3 * static_cast<double>(after[sm].clocks - before[sm].clocks) /
                     static_cast<double>(after[sm].nanoseconds - before[sm].nanoseconds));
  }
  return of_sms.empty() ? 0 : median(std::move(of_sms));
}

}  // namespace heddle
