#include "checkpoint/files/work_queue.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace heddle {
namespace {

constexpr std::size_t kMostJobs = 8;

std::size_t worker_count(std::size_t count, int jobs) {
  const std::size_t wanted =
      jobs > 0
          ? static_cast<std::size_t>(jobs)
          : std::min(kMostJobs, std::size_t{std::max(1U, std::thread::hardware_concurrency())});
  return std::min(wanted, count);
}

}  // namespace

void run_all(std::size_t count, int jobs, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        next = count;
        const std::lock_guard<std::mutex> lock(mutex);
        if (failure == nullptr) failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < worker_count(count, jobs); ++i) {
    try {
      threads.emplace_back(loop);
    } catch (const std::system_error&) {
      break;  // the threads that there are do the work
    }
  }
  loop();
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace heddle
