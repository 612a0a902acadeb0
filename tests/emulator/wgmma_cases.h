// The GEMMs whose wgmma kernels are run on the CPU: small, and ragged where a kernel can be.
#ifndef HEDDLE_TESTS_EMULATOR_WGMMA_CASES_H_
#define HEDDLE_TESTS_EMULATOR_WGMMA_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/warpgroup/shares.h"
#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

// How the blocks of a launch come by their work.
enum class Sharing {
  kNone,         // each tile is one block's
  kClusters,     // a pair of blocks for each tile
  kEqualParts,   // each tile to the same number of blocks, by way of the workspace
  kEqualShares,  // as much for each block, which may end one tile and begin another
};

struct WgmmaCase {
  std::string name;
  GemmSpec spec;  // whose range of M one kernel serves
  int sm_count;
  std::vector<std::int64_t> tokens;  // the M to run
  Sharing sharing;                   // with the last of them
  int cluster = 1;                   // of blocks that share tokens

  Plan plan() const;  // of one kernel, with wgmma
  // What a launch with m tokens is told: with the last of `tokens`, or with all where one tile has
  // them, what `sharing` says, whatever would be the fastest.
  WgmmaShares shares(const Plan& plan, std::int64_t m) const;
};

// Tokens and rows of a tile, columns of a stage.
struct WgmmaTile {
  int m, n, k;
};

const std::vector<WgmmaCase>& wgmma_cases();

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_WGMMA_CASES_H_
