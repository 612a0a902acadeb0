// Uploader: bytes from the host to device memory, in bounded memory and in the order of a stream.
#pragma once

#include <cstddef>
#include <memory>

#include "heddle/checkpoint.h"
#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"

namespace heddle {

// Packs layers into device memory through page-locked staging memory, also while an engine runs:
// pointers stay, CUDA graphs see the new bytes, and nobody holds a second copy of the model.
//
// What an engine must synchronise:
// - Copies are in the order of `stream`. Kernels of other streams that read the memory must have
//   ended, or the stream must wait for them.
// - Until finish() returns no kernel that reads the memory may be launched, also not on `stream`:
//   kernels may read weights early (GemmArgs::weights).
// - Where a function throws the memory may hold old and new bytes mixed: upload the tensor again.
//
// All functions work in the current context, that of the stream and of the memory. They allocate
// nothing on the device. One thread at a time may use an Uploader. While `stream` is captured they
// throw Error(kUsage, "upload.capturing"), and the capture stays valid. All throw Error(kDriver).
class HEDDLE_EXPORT Uploader {
 public:
  static constexpr std::size_t kDefaultStagingBytes = std::size_t{16} << 20;
  static constexpr std::size_t kLeastStagingBytes = 4096;

  // Allocates `staging_bytes` of page-locked host memory: keep the Uploader for many tensors.
  // Throws Error(kUsage, "upload.staging_bytes") for fewer than kLeastStagingBytes.
  explicit Uploader(Stream stream, std::size_t staging_bytes = kDefaultStagingBytes);
  // Waits for the copies that are under way.
  ~Uploader();
  Uploader(Uploader&&) noexcept;
  Uploader& operator=(Uploader&&) noexcept;

  // The packed weights of a layer to memory that is aligned to 16 bytes. Throws Error(kUsage)
  // before anything is copied: "upload.null", "upload.misaligned", "upload.too_small"; and as
  // CheckpointReader::pack() does. finish() waits for the last copies.
  void pack(const CheckpointReader& reader, const CheckpointLayer& layer, DeviceOutput to);
  // As above, for any tensor of the reader; the memory may have any alignment.
  void read(const CheckpointReader& reader, const CheckpointTensor& tensor, DeviceOutput to);
  // Bytes of the caller's own, which may go once it returns.
  void write(const void* from, std::size_t bytes, DeviceOutput to);

  // Waits until all that was written has arrived.
  void finish();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace heddle
