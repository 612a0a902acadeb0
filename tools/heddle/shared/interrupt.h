// InterruptGuard: while one lives, the first SIGINT asks for an end instead of ending the process.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_INTERRUPT_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_INTERRUPT_H_

#include <csignal>

namespace heddle {

// One at a time. The second SIGINT does what it did before the guard: it ends the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted() noexcept;

 private:
  struct sigaction before_ {};
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_INTERRUPT_H_
