// Staging: page-locked host memory in two halves, from which a stream copies to the device.
#ifndef HEDDLE_RUNTIME_UPLOAD_STAGING_H_
#define HEDDLE_RUNTIME_UPLOAD_STAGING_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "heddle/kernel.h"
#include "runtime/driver/cuda_abi.h"

namespace heddle::cuda {

// Belongs to one thread at a time. All functions throw Error(kDriver).
class Staging {
 public:
  Staging(Stream stream, std::size_t bytes);
  // Waits for the copies that are under way.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Copies the bytes into staging memory, and enqueues the copy of each half that is full. Bytes
  // that follow each other on the device are copied together.
  void write(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes);
  // Enqueues the rest.
  void flush();
  // Forgets the rest.
  void drop() noexcept { end_ = begin_; }
  // Waits until all that is enqueued has arrived.
  void wait();

 private:
  struct Half {
    std::uint8_t* memory = nullptr;
    CUevent copied = nullptr;
    bool in_flight = false;  // `copied` stands behind copies from it
  };

  void allocate();
  void release() noexcept;
  void next_half();
  static void wait_for(Half* half);

  CUstream stream_;
  std::size_t half_bytes_;
  std::array<Half, 2> halves_{};
  std::size_t current_ = 0;
  std::size_t begin_ = 0;       // in the current half: what is not enqueued yet...
  std::size_t end_ = 0;         // ... up to here
  std::uint8_t* to_ = nullptr;  // where it belongs on the device
};

}  // namespace heddle::cuda

#endif  // HEDDLE_RUNTIME_UPLOAD_STAGING_H_
