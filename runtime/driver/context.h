// CurrentContext: gives a scope a current CUDA context and leaves the thread's as it was.
#ifndef HEDDLE_RUNTIME_DRIVER_CONTEXT_H_
#define HEDDLE_RUNTIME_DRIVER_CONTEXT_H_

#include <cstdint>
#include <optional>

#include "heddle/kernel.h"
#include "runtime/driver/cuda_abi.h"

namespace heddle::cuda {

struct Driver;

// While one lives, the calling thread may make calls that a stream capture forbids, such as loading
// and unloading code: they neither fail nor break a capture, of this thread or of another. Belongs
// to the thread that made it.
class RelaxedCaptures {
 public:
  explicit RelaxedCaptures(const Driver& driver) noexcept;
  ~RelaxedCaptures();
  RelaxedCaptures(const RelaxedCaptures&) = delete;
  RelaxedCaptures& operator=(const RelaxedCaptures&) = delete;

  // Throws Error(kDriver) if the driver refused; then captures are in danger as they always are.
  void check() const;

 private:
  const Driver& driver_;
  CUstreamCaptureMode before_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // what the thread had, once set
  CUresult result_;
};

// If the calling thread has a current context, that one is used. Otherwise the primary context of
// device `ordinal` is retained and made current until the guard ends. Heddle never creates or
// resets a context. What is done until then breaks no capture. Throws Error(kDriver). Belongs to
// the thread that made it.
class CurrentContext {
 public:
  explicit CurrentContext(int ordinal = 0);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  CUdevice device() const noexcept { return device_; }
  CUcontext context() const noexcept { return context_; }
  // Whether the guard retained the primary context itself.
  bool retained() const noexcept { return retained_; }

 private:
  RelaxedCaptures relaxed_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  bool retained_ = false;
};

// A reference to the primary context of a device, for as long as the object lives. What is loaded
// into a context must not outlive it. Any thread.
class PrimaryContext {
 public:
  explicit PrimaryContext(CUdevice device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CUcontext context() const noexcept { return context_; }

 private:
  CUdevice device_;
  CUcontext context_ = nullptr;
};

// The current context's device, else the device `ordinal`. Throws Error(kDriver).
CUdevice device_at_hand(int ordinal);

// The capture that launches on `stream` go into, if one does: a number that all streams of a
// capture have in common, and no other capture of the process. A query that a capture allows.
// Throws Error(kDriver).
std::optional<std::uint64_t> capture_of(Stream stream);
// That of the default stream while one that it waits for is captured: the driver tells no more.
inline constexpr std::uint64_t kSomeCapture = UINT64_MAX;

}  // namespace heddle::cuda

#endif  // HEDDLE_RUNTIME_DRIVER_CONTEXT_H_
