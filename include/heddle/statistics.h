// What this process did with kernels since it started, for monitoring.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "heddle/export.h"

namespace heddle {

// Of all runtimes of the process.
struct Statistics {
  std::uint64_t cache_hits = 0;    // kernels that were found, in memory or on disk
  std::uint64_t cache_misses = 0;  // kernels that were not, and had to be compiled or were refused
  std::uint64_t compilations = 0;  // that succeeded
  double compile_seconds = 0;      // their sum: several run at a time
  std::uint64_t kernels_loaded = 0;
  // Of each kernel that was loaded, by name: calls that launched it, and captures of it into a CUDA
  // graph, whose own launches nobody tells.
  std::map<std::string, std::uint64_t> launches;
};

// Any thread; launches that run at the same time are in it or not. With the environment variable
// HEDDLE_STATS, a file, a process that made a Runtime also writes them there when it exits.
HEDDLE_EXPORT Statistics statistics();

// {"cache_hits", "cache_misses", "compilations", "compile_seconds", "kernels_loaded", "launches":
// {kernel: number}}
HEDDLE_EXPORT std::string statistics_to_json(const Statistics& statistics);

}  // namespace heddle
