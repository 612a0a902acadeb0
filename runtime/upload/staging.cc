#include "runtime/upload/staging.h"

#include <algorithm>
#include <cstring>

#include "heddle/error.h"
#include "runtime/driver/context.h"
#include "runtime/driver/driver.h"

namespace heddle::cuda {

Staging::Staging(Stream stream, std::size_t bytes)
    : stream_(static_cast<CUstream>(stream)), half_bytes_(bytes / 2) {
  try {
    allocate();
  } catch (...) {
    release();
    throw;
  }
}

Staging::~Staging() { release(); }

void Staging::allocate() {
  const Driver& cu = driver();
  const RelaxedCaptures relaxed(cu);
  relaxed.check();
  for (Half& half : halves_) {
    void* memory = nullptr;
    // In every context: an engine may give it back in another one.
    check(cu.cuMemHostAlloc(&memory, half_bytes_, kPortableHostMemory), "cuMemHostAlloc");
    half.memory = static_cast<std::uint8_t*>(memory);
    check(cu.cuEventCreate(&half.copied, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  }
}

void Staging::release() noexcept {
  if (driver_is_forked()) return;
  const Driver* cu = try_driver(nullptr);
  if (cu == nullptr) return;
  const RelaxedCaptures relaxed(*cu);
  for (Half& half : halves_) {
    // Copies must not read memory that is gone; results tell nothing that could be helped.
    if (half.in_flight) cu->cuEventSynchronize(half.copied);
    if (half.copied != nullptr) cu->cuEventDestroy(half.copied);
    if (half.memory != nullptr) cu->cuMemFreeHost(half.memory);
  }
}

void Staging::wait_for(Half* half) {
  if (!half->in_flight) return;
  const Driver& cu = driver();
  const RelaxedCaptures relaxed(cu);
  relaxed.check();
  check(cu.cuEventSynchronize(half->copied), "cuEventSynchronize");
  half->in_flight = false;
}

void Staging::flush() {
  if (begin_ == end_) return;
  if (capture_of(stream_).has_value()) {
    throw Error(ErrorCategory::kUsage, "upload.capturing",
                "the stream is being captured: a graph would copy again what staging memory holds "
                "by then");
  }
  const Driver& cu = driver();
  Half& half = halves_[current_];
  check(cu.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(to_), half.memory + begin_,
                             end_ - begin_, stream_),
        "cuMemcpyHtoDAsync");
  // From here on the half is in use, whether the event can be recorded or not.
  to_ += end_ - begin_;
  begin_ = end_;
  const CUresult recorded = cu.cuEventRecord(half.copied, stream_);
  if (recorded != CUDA_SUCCESS) {
    const RelaxedCaptures relaxed(cu);
    cu.cuStreamSynchronize(stream_);
  }
  check(recorded, "cuEventRecord");
  half.in_flight = true;
}

void Staging::next_half() {
  flush();
  wait_for(&halves_[1 - current_]);
  current_ = 1 - current_;
  begin_ = 0;
  end_ = 0;
}

void Staging::write(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  while (bytes > 0) {
    if (end_ == half_bytes_) next_half();
    if (to != to_ + (end_ - begin_)) {
      flush();
      to_ = to;
    }
    const std::size_t count = std::min(bytes, half_bytes_ - end_);
    std::memcpy(halves_[current_].memory + end_, from, count);
    end_ += count;
    to += count;
    from += count;
    bytes -= count;
  }
}

void Staging::wait() {
  for (Half& half : halves_) wait_for(&half);
  if (begin_ == end_) begin_ = end_ = 0;
}

}  // namespace heddle::cuda
