// Fibers: functions that give way to each other on one thread, each on a stack of its own.
#ifndef HEDDLE_TESTS_EMULATOR_FIBERS_H_
#define HEDDLE_TESTS_EMULATOR_FIBERS_H_

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace emulator {

// All run the same function, which must not throw. Those that have not returned are dropped with
// what is on their stacks.
class Fibers {
 public:
  Fibers(std::size_t count, const std::function<void()>& function);
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // From outside of the fibers: runs one until it suspends or returns. True: it returned.
  bool resume(std::size_t fiber);
  // From inside: back to who resumed it.
  void suspend();

 private:
  // setcontext() enters a fiber the first time. Later switches use _setjmp and _longjmp, because
  // swapcontext() makes a system call to save the signal mask.
  struct Fiber {
    ucontext_t context;
    jmp_buf suspended;
    bool started = false;
    bool returned = false;
  };

  static void enter();
  void go_on(Fiber& fiber);

  const std::function<void()>& function_;
  std::unique_ptr<char[]> stacks_;
  std::vector<Fiber> fibers_;
  jmp_buf outside_;
  std::size_t current_ = 0;
};

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_FIBERS_H_
