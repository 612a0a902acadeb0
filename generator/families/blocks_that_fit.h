// How many thread blocks of a kernel an SM holds, and what registers these leave a thread.
#ifndef HEDDLE_GENERATOR_FAMILIES_BLOCKS_THAT_FIT_H_
#define HEDDLE_GENERATOR_FAMILIES_BLOCKS_THAT_FIT_H_

#include <algorithm>

#include "generator/families/shared_memory.h"
#include "heddle/target.h"

namespace heddle {

// By the threads and the shared memory of a thread block; at least one, at most `most`.
inline int blocks_that_fit(const Target& target, int threads, int shared_bytes, int most) {
  const int by_threads = target.threads_per_sm / threads;
  const int by_shared = target.shared_per_sm / (shared_bytes + kReservedSharedBytes);
  return std::max(1, std::min({most, by_threads, by_shared}));
}

// Registers that the compiler may give each thread of so many blocks of an SM.
inline int register_budget(const Target& target, int threads, int blocks_per_sm) {
  constexpr int kMostThreadRegisters = 255, kRegisterUnit = 8;
  return std::min(kMostThreadRegisters, target.registers_per_sm / (threads * blocks_per_sm) /
                                            kRegisterUnit * kRegisterUnit);
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_BLOCKS_THAT_FIT_H_
