// A GPU for kernels that were compiled for the CPU: the blocks of a grid, cluster after cluster or
// all at once, each thread a fiber, all on the caller's thread.
//
// A fiber runs until it waits: at a barrier, at an instruction of its whole warp, at an mbarrier.
// Which one runs next, and when an asynchronous copy ends, is drawn from a seed, so that many seeds
// try many interleavings. What a GPU would leave undefined ends the run with an Error: an access
// outside of its memory, or to bytes that a copy is writing; lanes of a warp at different
// instructions; a barrier that no one has initialised; fibers that all wait for each other.
//
// Not emulated: time, and a memory order weaker than that of the interleaving.
#ifndef HEDDLE_TESTS_EMULATOR_MACHINE_H_
#define HEDDLE_TESTS_EMULATOR_MACHINE_H_

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "tests/emulator/global_memory.h"

namespace emulator {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Launch {
  int blocks = 1;
  int cluster = 1;   // blocks of a cluster; divides `blocks`
  int threads = 32;  // of a block, a multiple of 32
  int shared_bytes = 0;
  std::uint32_t seed = 1;
  bool together = false;  // all blocks run at once
  int grid_x = 0;         // of a grid that is no row of blocks: its first two sizes
  int grid_y = 1;
  // Bulk copies must begin at the same place of a line of 128 bytes in both memories, as fast ones
  // do.
  bool copies_keep_lines = false;
};

// Runs `kernel` once for each thread, which finds its place in threadIdx, blockIdx and gridDim.
// One launch at a time in a process. Throws Error, after which the memory is in any state.
void run(const Launch& launch, const GlobalMemory& memory, const std::function<void()>& kernel);

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_MACHINE_H_
