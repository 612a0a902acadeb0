// cp.async: copies of a thread into its block's shared memory, which end when it waits for them.
#ifndef HEDDLE_TESTS_EMULATOR_ASYNC_COPIES_H_
#define HEDDLE_TESTS_EMULATOR_ASYNC_COPIES_H_

#include <cstdint>
#include <deque>
#include <vector>

namespace emulator {

struct AsyncCopy {
  std::uint32_t address;
  const void* from;
  unsigned bytes;
  unsigned valid_bytes;  // that are read; the others become zero
};

// The copies of one thread. Groups are in the order of their commits.
class AsyncCopies {
 public:
  using Group = std::vector<AsyncCopy>;

  void add(const AsyncCopy& copy) { open_.push_back(copy); }
  void commit();
  // The oldest group, if there are more than `pending` of those that are closed.
  bool take(unsigned pending, Group& group);
  // Whether copies are on their way.
  bool any() const;

 private:
  Group open_;
  std::deque<Group> closed_;
};

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_ASYNC_COPIES_H_
