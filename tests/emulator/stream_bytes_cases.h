// The GEMMs of tokens of eight bits and weights of four whose streaming kernels are run on the CPU.
#ifndef HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_
#define HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

struct StreamBytesCase {
  std::string name;
  GemmSpec spec;                             // whose range of M one kernel serves
  int sm_count;                              // few, so that a block has several row blocks
  std::optional<std::size_t> as_wgmma = {};  // of wgmma_decoded_cases(), with the same bits

  Plan plan() const;  // of one kernel, a stream
};

const std::vector<StreamBytesCase>& stream_bytes_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_STREAM_BYTES_CASES_H_
