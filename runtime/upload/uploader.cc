#include "heddle/uploader.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "heddle/error.h"
#include "runtime/driver/driver.h"
#include "runtime/upload/staging.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(const char* code, const std::string& message) {
  throw Error(ErrorCategory::kUsage, code, message);
}

std::size_t checked(std::size_t staging_bytes) {
  if (staging_bytes >= Uploader::kLeastStagingBytes) return staging_bytes;
  refuse("upload.staging_bytes", fmt::format("{} bytes of staging memory; allowed: {} and more",
                                             staging_bytes, Uploader::kLeastStagingBytes));
}

void need_memory(DeviceOutput to, std::size_t needed) {
  if (to.data == nullptr) refuse("upload.null", "the device memory to upload to is null");
  if (to.bytes < needed) {
    refuse("upload.too_small",
           fmt::format("the device memory has {} bytes; needed: {}", to.bytes, needed));
  }
}

}  // namespace

struct Uploader::State {
  State(Stream stream, std::size_t staging_bytes) : staging(stream, checked(staging_bytes)) {}

  // What work() leaves in staging memory is copied now, or, if it throws, never: the memory that it
  // belongs to may be gone by the next call.
  template <class Work>
  void run(const Work& work) {
    try {
      work();
      staging.flush();
    } catch (...) {
      staging.drop();
      throw;
    }
  }

  // As above, of work(sink) that makes a tensor of so many bytes.
  template <class Work>
  void run_to(DeviceOutput to, std::size_t bytes, const Work& work) {
    cuda::refuse_forked();
    need_memory(to, bytes);
    auto* const first = static_cast<std::uint8_t*>(to.data);
    run([&] {
      work([&](std::size_t offset, const void* data, std::size_t count) {
        staging.write(first + offset, static_cast<const std::uint8_t*>(data), count);
        return true;
      });
    });
  }

  cuda::Staging staging;
};

Uploader::Uploader(Stream stream, std::size_t staging_bytes)
    : state_(std::make_unique<State>(stream, staging_bytes)) {}
Uploader::~Uploader() = default;
Uploader::Uploader(Uploader&&) noexcept = default;
Uploader& Uploader::operator=(Uploader&&) noexcept = default;

void Uploader::pack(const CheckpointReader& reader, const CheckpointLayer& layer, DeviceOutput to) {
  constexpr std::uintptr_t kAlignment = 16;
  if (reinterpret_cast<std::uintptr_t>(to.data) % kAlignment != 0) {
    refuse("upload.misaligned", "the device memory of packed weights must be aligned to 16 bytes");
  }
  state_->run_to(to, layer.packed.bytes, [&](const ByteSink& sink) { reader.pack(layer, sink); });
}

void Uploader::read(const CheckpointReader& reader, const CheckpointTensor& tensor,
                    DeviceOutput to) {
  state_->run_to(to, tensor.bytes, [&](const ByteSink& sink) { reader.read(tensor, sink); });
}

void Uploader::write(const void* from, std::size_t bytes, DeviceOutput to) {
  cuda::refuse_forked();
  if (bytes == 0) return;
  need_memory(to, bytes);
  if (from == nullptr) refuse("upload.null", "the bytes to upload are null");
  state_->run([&] {
    state_->staging.write(static_cast<std::uint8_t*>(to.data),
                          static_cast<const std::uint8_t*>(from), bytes);
  });
}

void Uploader::finish() {
  cuda::refuse_forked();
  state_->staging.wait();
}

}  // namespace heddle
