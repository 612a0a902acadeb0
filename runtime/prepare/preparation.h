// Preparation::State: what the copies of a Preparation and the background share.
#ifndef HEDDLE_RUNTIME_PREPARE_PREPARATION_H_
#define HEDDLE_RUNTIME_PREPARE_PREPARATION_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "heddle/runtime.h"

namespace heddle {

// What the background counts, and is told.
struct BackgroundWork {
  std::atomic<std::size_t> done{0};
  std::size_t total = 0;  // set before prepare() returns
  std::atomic<bool> cancelled{false};
};

struct Preparation::State {
  std::vector<KernelRequest> requests;
  std::shared_ptr<BackgroundWork> work = std::make_shared<BackgroundWork>();
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_PREPARE_PREPARATION_H_
