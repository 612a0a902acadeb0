// Multiplications of a warp that run on their own: wgmma, whose registers and shared memory are
// read and written at the last moment, when they are waited for.
#ifndef HEDDLE_TESTS_EMULATOR_MULTIPLICATIONS_H_
#define HEDDLE_TESTS_EMULATOR_MULTIPLICATIONS_H_

#include <cstdint>
#include <vector>

#include "tests/emulator/byte_arithmetic.h"
#include "tests/emulator/half_arithmetic.h"

namespace emulator {

// A lane's part of one. `a`: A is 16-bit values in registers, with `bytes` codes. Else both
// operands are codes in shared memory.
struct Multiplication {
  Half half;
  void* d;   // floats or, of kInt8, 32-bit integers
  int sums;  // of d: half the columns of B
  const std::uint32_t* a = nullptr;
  std::uint64_t columns;  // descriptor
  bool add;
  std::uint64_t rows = 0;  // descriptor, the same for all warps of a warpgroup
  Codes row_codes{};
  Codes column_codes{};
  bool bytes = a == nullptr;
};

// The multiplications of one lane. Groups are in the order of their commits; the last one is still
// open.
class Multiplications {
 public:
  struct Group {
    std::vector<Multiplication> members;
    std::uint32_t time = 0;  // of the lane, when it was closed
  };

  void add(const Multiplication& multiplication) { open_.members.push_back(multiplication); }
  void commit(std::uint32_t time);
  bool empty() const { return open_.members.empty() && closed_.empty(); }
  // All but the latest of the closed groups, at most `pending` of which stay.
  std::vector<Group> take(unsigned pending);

 private:
  Group open_;
  std::vector<Group> closed_;
};

// Called by all lanes of a warp; see templates/primitives/wgmma.cuh.
void multiply_later(const Multiplication& multiplication);
void commit_multiplications();
void wait_for_multiplications(unsigned pending);

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_MULTIPLICATIONS_H_
