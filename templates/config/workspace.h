// What the workspaces of all kernels have in common, so that launches in a row may share one.
#pragma once

#include "config/config.h"

namespace heddle::device {

// A workspace opens with 32-bit counters, which are zero between launches. What lies behind them is
// written before it is read by every launch that uses it, so its old content counts for nothing. No
// kernel may put anything else where another one has its counters.
struct Workspace {
  static constexpr int kCounterBytes = 65536;
};

}  // namespace heddle::device
