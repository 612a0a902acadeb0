// What the entry points of the fake driver share.
#ifndef HEDDLE_TESTS_FAKE_DRIVER_CALL_H_
#define HEDDLE_TESTS_FAKE_DRIVER_CALL_H_

#include <mutex>
#include <thread>
#include <vector>

#include "entry_points.h"
#include "fake_driver.h"

namespace heddle::fake {

inline constexpr auto kInvalidValue = CUDA_ERROR_INVALID_VALUE;
inline constexpr auto kCaptureUnsupported = static_cast<CUresult>(900);
inline constexpr auto kNotFound = CUDA_ERROR_NOT_FOUND;
inline constexpr int kGlobal = 0;
inline constexpr int kRelaxed = 2;

inline thread_local std::vector<CUcontext> context_stack;

// The primary context of device i, or one that an engine made; contexts are only ever compared.
inline CUcontext context_of(int device, bool primary = true) {
  static char contexts[64];
  return reinterpret_cast<CUcontext>(&contexts[2 * device + (primary ? 0 : 1)]);
}
inline int device_of(CUcontext context) {
  for (int i = 0; i < 32; ++i) {
    if (context == context_of(i) || context == context_of(i, false)) return i;
  }
  return -1;
}

enum class InCapture { kForbidden, kAllowed };

// Enters the books and holds the lock for as long as the call; `result` is what it must return if
// that is no success.
class Call {
 public:
  // A call that is not said to be allowed in a capture fails, as loading code does, and breaks
  // those of this thread and the global ones of others, unless this thread has said that it knows
  // what it does.
  explicit Call(const char* name, InCapture in_capture = InCapture::kForbidden)
      : lock_(state().mutex) {
    State& s = state();
    s.calls.emplace_back(name);
    if (in_capture == InCapture::kForbidden && capture_mode() != kRelaxed) break_captures();
    const auto found = s.failures.find(name);
    if (found == s.failures.end()) return;
    if (found->second.skip > 0) {
      --found->second.skip;
    } else if (found->second.times != 0) {
      if (found->second.times > 0) --found->second.times;
      result = static_cast<CUresult>(found->second.result);
    }
  }
  CUresult result = CUDA_SUCCESS;

 private:
  void break_captures() {
    for (FakeStream* stream : state().streams) {
      const bool own = stream->thread == std::this_thread::get_id();
      if (!stream->capturing || stream->mode == kRelaxed) continue;
      if (!own && stream->mode != kGlobal) continue;
      stream->broken = true;
      result = kCaptureUnsupported;
    }
  }
  std::unique_lock<std::mutex> lock_;
};

inline Device* find_device(int device) {
  auto& devices = state().devices;
  if (device < 0 || device >= static_cast<int>(devices.size())) return nullptr;
  return &devices[static_cast<std::size_t>(device)];
}

inline FakeStream* find_stream(CUstream stream) {
  auto* found = reinterpret_cast<FakeStream*>(stream);
  return state().streams.count(found) != 0 ? found : nullptr;
}

// Makes the copies of the stream that were asked for. Precondition: the lock is held.
void make_copies(CUstream stream);

}  // namespace heddle::fake

#endif  // HEDDLE_TESTS_FAKE_DRIVER_CALL_H_
