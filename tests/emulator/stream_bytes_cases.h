// The GEMMs of tokens of eight bits and weights of four whose streaming kernels are run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_
#define HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "stream/config.h"
#include "tests/emulator/stream_cases.h"

namespace heddle {

struct StreamBytesCase : StreamCase {
  device::TokenValues values = {};
  bool bulk_tokens = false;
  std::optional<std::size_t> as_wgmma = {};  // of wgmma_decoded_cases(), with the same bits

  Plan plan() const;  // of one kernel, a stream whose tokens are such values and come so
};

const std::vector<StreamBytesCase>& stream_bytes_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_
