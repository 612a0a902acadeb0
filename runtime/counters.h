// Counters: what heddle/statistics.h tells, as it is counted.
#ifndef HEDDLE_RUNTIME_COUNTERS_H_
#define HEDDLE_RUNTIME_COUNTERS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "heddle/statistics.h"

namespace heddle {

// Any thread may call any function.
class Counters {
 public:
  using Counter = std::atomic<std::uint64_t>;

  // Never destroyed: kernels are launched and statistics written while the process exits.
  static Counters& of_process();

  void count_lookup(bool hit) { (hit ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed); }
  void count_compilation(double ms);
  // Counts a load of the kernel and gives the counter of its launches, which stays where it is: a
  // launch adds to it without a lock and without looking for it.
  Counter* count_load(const std::string& kernel_name);

  Statistics snapshot();

 private:
  Counter hits_{0};
  Counter misses_{0};
  std::mutex mutex_;
  // Guarded by mutex_, all but the counters of the launches.
  std::uint64_t compilations_ = 0;
  double compile_ms_ = 0;
  std::uint64_t loads_ = 0;
  std::map<std::string, Counter> launches_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COUNTERS_H_
