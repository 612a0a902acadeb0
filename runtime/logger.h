// The runtime's one way to say something: the callback of RuntimeOptions.
#ifndef HEDDLE_RUNTIME_LOGGER_H_
#define HEDDLE_RUNTIME_LOGGER_H_

#include <mutex>
#include <string_view>
#include <utility>

#include "heddle/runtime.h"

namespace heddle {

// Any thread; the callback gets one call at a time. With an empty one it is silent.
class Logger {
 public:
  explicit Logger(LogCallback callback) : callback_(std::move(callback)) {}

  void log(LogLevel level, std::string_view text) {
    if (!callback_) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    callback_(level, text);
  }

 private:
  LogCallback callback_;
  std::mutex mutex_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LOGGER_H_
