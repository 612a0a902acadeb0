#include "tests/emulator/fibers.h"

#include <cstdlib>

namespace emulator {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;

// makecontext() passes on no pointers.
Fibers* entering = nullptr;

}  // namespace

// The stacks are not initialised, so that only the pages that are used exist.
Fibers::Fibers(std::size_t count, const std::function<void()>& function)
    : function_(function), stacks_(new char[count * kStackBytes]), fibers_(count) {}

void Fibers::enter() {
  Fibers* fibers = entering;
  fibers->function_();
  fibers->fibers_[fibers->current_].returned = true;
  fibers->suspend();
}

bool Fibers::resume(std::size_t index) {
  current_ = index;
  if (_setjmp(outside_) == 0) go_on(fibers_[index]);
  return fibers_[current_].returned;
}

void Fibers::go_on(Fiber& fiber) {
  if (fiber.started) _longjmp(fiber.suspended, 1);
  fiber.started = true;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stacks_.get() + current_ * kStackBytes;
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, &Fibers::enter, 0);
  entering = this;
  setcontext(&fiber.context);
  std::abort();  // it returns only where it fails
}

void Fibers::suspend() {
  if (_setjmp(fibers_[current_].suspended) == 0) _longjmp(outside_, 1);
}

}  // namespace emulator
