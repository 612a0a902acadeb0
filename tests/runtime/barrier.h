// A place at which a test holds up other threads.
#ifndef HEDDLE_TESTS_RUNTIME_BARRIER_H_
#define HEDDLE_TESTS_RUNTIME_BARRIER_H_

#include <condition_variable>
#include <mutex>

namespace heddle::testing {

// Holds up whoever comes by while it is shut.
class Barrier {
 public:
  void shut() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_BARRIER_H_
