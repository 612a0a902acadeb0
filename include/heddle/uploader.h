// Uploader: bytes from the host to device memory, in bounded memory and in the order of a stream.
#ifndef HEDDLE_UPLOADER_H_
#define HEDDLE_UPLOADER_H_

#include <cstddef>
#include <memory>

#include "heddle/checkpoint.h"
#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"

namespace heddle {

// Packs layers into the device memory that an engine already uses, so that weights can change while
// it runs: the pointers stay, and neither the host nor the device holds a second copy of the model.
// Bytes are packed piece by piece into page-locked staging memory, of which one half is filled
// while the other is copied.
//
// What an engine must synchronise:
// - The copies are in the order of `stream`. Kernels that were launched on it before have ended
//   before the memory changes. Kernels on other streams that read the memory must have ended, or
//   the stream must wait for an event behind them.
// - finish() returns once the memory holds the new bytes. Until then nothing may read it, and no
//   kernel that does may be launched, also not on `stream`: kernels may read weights before the
//   kernel ahead of them in the stream has ended (GemmArgs::weights).
// - Where pack(), read() or write() throws, the memory may hold old and new bytes mixed: upload the
//   tensor again before it is used.
// A CUDA graph that was captured before sees the new bytes: it holds the same pointers.
//
// All functions work in the current context, which must be that of the stream and of the memory,
// and the same as when the Uploader was made. They allocate nothing on the device. One thread at a
// time may use an Uploader; several of them may upload at the same time. While `stream` is captured
// they throw Error(kUsage, "upload.capturing"), and the capture stays valid; captures of other
// streams go on undisturbed. All throw Error(kDriver).
class HEDDLE_EXPORT Uploader {
 public:
  static constexpr std::size_t kDefaultStagingBytes = std::size_t{16} << 20;
  static constexpr std::size_t kLeastStagingBytes = 4096;

  // Allocates `staging_bytes` of page-locked host memory, which takes milliseconds: keep the
  // Uploader for many tensors. The stream must outlive it. Throws Error(kUsage,
  // "upload.staging_bytes") for fewer than kLeastStagingBytes.
  explicit Uploader(Stream stream, std::size_t staging_bytes = kDefaultStagingBytes);
  // Waits for the copies that are under way.
  ~Uploader();
  Uploader(Uploader&&) noexcept;
  Uploader& operator=(Uploader&&) noexcept;

  // The packed weights of a layer to device memory that is aligned to 16 bytes. Throws
  // Error(kUsage) before anything is copied: "upload.null", "upload.misaligned",
  // "upload.too_small"; and as CheckpointReader::pack() does. Does not wait for the last copies:
  // that is finish().
  void pack(const CheckpointReader& reader, const CheckpointLayer& layer, DeviceOutput to);
  // The same for any tensor of the reader; the memory may have any alignment.
  void read(const CheckpointReader& reader, const CheckpointTensor& tensor, DeviceOutput to);
  // Bytes of the caller's own, which may go once it returns, to the first of the device memory.
  // Throws Error(kUsage): "upload.null", "upload.too_small".
  void write(const void* from, std::size_t bytes, DeviceOutput to);

  // Waits until all that was written has arrived.
  void finish();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace heddle

#endif  // HEDDLE_UPLOADER_H_
