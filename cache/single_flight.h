// SingleFlight: among the threads of this process, one works on a key and the others wait for it.
#ifndef HEDDLE_CACHE_SINGLE_FLIGHT_H_
#define HEDDLE_CACHE_SINGLE_FLIGHT_H_

#include <future>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cache/key.h"
#include "cache/memory_cache.h"
#include "heddle/inspect/binary.h"

namespace heddle {

// Thread-safe.
class SingleFlight {
 public:
  using Result = std::shared_ptr<const Binary>;

  // Runs work(), or waits for the thread that is running it for an equal key and takes its result
  // or its exception. `led` says which. work() must not come back here with the same key.
  template <typename Work>
  Result run(const CacheKey& key, const Work& work, bool* led) {
    std::promise<Result> promise;
    std::shared_future<Result> other = join(key, &promise);
    *led = !other.valid();
    if (!*led) return other.get();
    try {
      Result result = work();
      leave(key);
      promise.set_value(result);
      return result;
    } catch (...) {
      leave(key);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

 private:
  // The future of who is already on it; else registers the promise's and returns an invalid one.
  std::shared_future<Result> join(const CacheKey& key, std::promise<Result>* promise) {
    const std::lock_guard guard(mutex_);
    const auto found = flights_.find(key);
    if (found != flights_.end()) return found->second;
    flights_.emplace(key, promise->get_future().share());
    return {};
  }

  void leave(const CacheKey& key) {
    const std::lock_guard guard(mutex_);
    flights_.erase(key);
  }

  std::mutex mutex_;
  std::unordered_map<CacheKey, std::shared_future<Result>, CacheKeyHash> flights_;
};

}  // namespace heddle

#endif  // HEDDLE_CACHE_SINGLE_FLIGHT_H_
