#include "runtime/counters.h"

#include <nlohmann/json.hpp>

namespace heddle {

Counters& Counters::of_process() {
  static Counters& counters = *new Counters;
  return counters;
}

void Counters::count_compilation(double ms) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++compilations_;
  compile_ms_ += ms;
}

Counters::Counter* Counters::count_load(const std::string& kernel_name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++loads_;
  return &launches_[kernel_name];
}

Statistics Counters::snapshot() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Statistics now;
  now.cache_hits = hits_.load(std::memory_order_relaxed);
  now.cache_misses = misses_.load(std::memory_order_relaxed);
  now.compilations = compilations_;
  now.compile_seconds = compile_ms_ / 1000;
  now.kernels_loaded = loads_;
  for (const auto& [kernel, count] : launches_) {
    now.launches[kernel] = count.load(std::memory_order_relaxed);
  }
  return now;
}

Statistics statistics() { return Counters::of_process().snapshot(); }

std::string statistics_to_json(const Statistics& statistics) {
  const nlohmann::ordered_json json = {{"cache_hits", statistics.cache_hits},
                                       {"cache_misses", statistics.cache_misses},
                                       {"compilations", statistics.compilations},
                                       {"compile_seconds", statistics.compile_seconds},
                                       {"kernels_loaded", statistics.kernels_loaded},
                                       {"launches", statistics.launches}};
  return json.dump(2);
}

}  // namespace heddle
