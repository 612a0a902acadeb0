// The GEMMs whose kernels are run on the CPU: small, and ragged where a kernel can be. Those of
// wgmma are in wgmma_cases.h. The plan of a case is of one kernel.
#ifndef HEDDLE_TESTS_EMULATOR_GEMM_CASES_H_
#define HEDDLE_TESTS_EMULATOR_GEMM_CASES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"
#include "stream/config.h"

namespace heddle {

struct GemmCase {
  std::string name;
  GemmSpec spec;  // whose range of M one kernel serves
};

// Fed by bulk copies, on an H200.
struct BulkCase : GemmCase {
  Plan plan() const;
};
const std::vector<BulkCase>& bulk_cases();

// On mma.sync. Those with a tile of their own read ahead (tiles/multiply_wide.cuh), the others do
// not.
struct MmaCase : GemmCase {
  int sm_count = 132;
  Plan plan() const;
};
const std::vector<MmaCase>& mma_cases();

// On mma.sync with two operands of eight bits.
struct ByteTilesCase : GemmCase {
  // The GEMM of INT8 whose kernel with wgmma must give the same bits: its number in
  // wgmma_bytes_cases().
  std::optional<std::size_t> as_wgmma = std::nullopt;
  const char* gpu = "h200";  // whose mma.sync has FP16 in place of FP8
  Plan plan() const;
};
const std::vector<ByteTilesCase>& byte_tiles_cases();

// For one token.
struct GemvCase : GemmCase {
  std::string label;  // GemmFamily::label() of the candidate
  Plan plan() const;
};
const std::vector<GemvCase>& gemv_cases();

struct StreamCase : GemmCase {
  int sm_count;  // few, so that a block has several row blocks
  Plan plan() const;
};
const std::vector<StreamCase>& stream_cases();

// Streams of tokens of eight bits and weights of four.
struct StreamBytesCase : StreamCase {
  device::TokenValues values = {};
  bool bulk_tokens = false;
  std::optional<std::size_t> as_wgmma = {};  // of wgmma_decoded_cases(), with the same bits
  Plan plan() const;                         // whose tokens are such values and come so
};
const std::vector<StreamBytesCase>& stream_bytes_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_GEMM_CASES_H_
