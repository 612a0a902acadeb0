#include "tools/gpu_harness/byte_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/gpu_harness/poison.h"

namespace heddle {

std::string ByteCheck::fault() const {
  if (!guards_intact) return "writes outside of its output";
  if (mismatches == 0) return {};
  return fmt::format("{} of {} bytes differ, the first at {}", mismatches, bytes, first_mismatch);
}

ByteCheck check_bytes(const std::vector<std::uint8_t>& expected, const OwnedStream& stream,
                      const std::function<void(const DeviceOutput& output)>& launch) {
  ByteCheck check;
  check.bytes = expected.size();
  check.guards_intact = true;
  DeviceBuffer output(expected.size() + 2 * kGuardBytes);
  std::vector<std::uint8_t> got(output.bytes());
  for (const std::uint8_t poison : {0xFF, 0x5A}) {
    output.fill(poison, stream);
    launch(output.memory(kGuardBytes, expected.size()));
    output.download(got.data(), 0, got.size(), stream);
    const auto is_poison = [poison](std::uint8_t byte) { return byte == poison; };
    const auto first = got.begin() + kGuardBytes;
    const auto last = got.end() - kGuardBytes;
    check.guards_intact = check.guards_intact && std::all_of(got.begin(), first, is_poison) &&
                          std::all_of(last, got.end(), is_poison);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (got[kGuardBytes + i] == expected[i]) continue;
      if (check.mismatches++ == 0) check.first_mismatch = i;
    }
  }
  return check;
}

}  // namespace heddle
