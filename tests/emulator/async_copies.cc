#include "tests/emulator/async_copies.h"

#include <algorithm>
#include <utility>

namespace emulator {

void AsyncCopies::commit() { closed_.push_back(std::exchange(open_, {})); }

bool AsyncCopies::take(unsigned pending, Group& group) {
  if (closed_.size() <= pending) return false;
  group = std::move(closed_.front());
  closed_.pop_front();
  return true;
}

bool AsyncCopies::any() const {
  return !open_.empty() || std::any_of(closed_.begin(), closed_.end(),
                                       [](const Group& group) { return !group.empty(); });
}

}  // namespace emulator
