// The GEMMs of tokens of eight bits and weights of four whose streaming kernels are run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_
#define HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "tests/emulator/stream_cases.h"

namespace heddle {

struct StreamBytesCase : StreamCase {
  std::optional<std::size_t> as_wgmma = {};  // of wgmma_decoded_cases(), with the same bits
};

const std::vector<StreamBytesCase>& stream_bytes_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_
