// Runs a list of independent jobs on a bounded number of threads.
#ifndef HEDDLE_RUNTIME_COMPILE_BUILD_POOL_H_
#define HEDDLE_RUNTIME_COMPILE_BUILD_POOL_H_

#include <cstddef>
#include <functional>

namespace heddle {

// Calls job(0) ... job(count - 1), at most `threads` at a time, in the order of their indices, and
// returns when all have ended. The calling thread is one of the threads. If jobs threw, rethrows
// the exception of the one with the lowest index, after all have ended.
void run_jobs(std::size_t count, int threads, const std::function<void(std::size_t)>& job);

// `wanted` if positive, else min(cores, 8).
int pool_size(int wanted);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_BUILD_POOL_H_
