#include "heddle/uploader.h"

#include <nanobind/nanobind.h>

#include <cstddef>

#include "arguments.h"
#include "bindings.h"
#include "device_array.h"
#include "errors.h"
#include "host_array.h"
#include "stream.h"

namespace heddle::python {
namespace {

// An Uploader, the stream that must outlive it, and the memory of copies that finish() waits for.
struct HeldUploader {
  Uploader uploader;
  nb::object stream;
  nb::list owners;
};

DeviceOutput output_of(HeldUploader* self, nb::handle value) {
  DeviceArray array = device_array(value, "to");
  if (!array.raw && !array.is_dense()) refuse("upload.layout", "to is not contiguous");
  if (array.read_only) refuse("upload.read_only", "to is read-only");
  self->owners.append(std::move(array.owner));
  return {array.data, array.bytes};
}

}  // namespace

void bind_uploader(nb::module_& m) {
  nb::class_<HeldUploader>(
      m, "Uploader",
      "Bytes from the host to device memory, in the order of a stream, through a small page-locked "
      "buffer. Works in the current context. One thread at a time.")
      .def(
          "__init__",
          [](HeldUploader* self, nb::handle stream, std::size_t staging_bytes) {
            const Stream on = stream_argument(stream, kAnyDevice);
            new (self) HeldUploader{Uploader(on, staging_bytes), nb::borrow(stream), nb::list()};
          },
          nb::arg("stream") = nb::none(), nb::arg("staging_bytes") = Uploader::kDefaultStagingBytes,
          nb::sig("def __init__(self, stream: object = None, staging_bytes: int = 16777216) -> "
                  "None"),
          "`stream` as of Launch; it is kept alive.")
      .def(
          "pack",
          [](HeldUploader& self, const CheckpointReader& reader, const CheckpointLayer& layer,
             nb::handle to) {
            const DeviceOutput memory = output_of(&self, to);
            const nb::gil_scoped_release release;
            self.uploader.pack(reader, layer, memory);
          },
          nb::arg("reader"), nb::arg("layer"), nb::arg("to"),
          nb::sig("def pack(self, reader: CheckpointReader, layer: CheckpointLayer, to: object) -> "
                  "None"),
          "The packed weights of a layer to device memory, aligned to 16 bytes.")
      .def(
          "read",
          [](HeldUploader& self, const CheckpointReader& reader, const CheckpointTensor& tensor,
             nb::handle to) {
            const DeviceOutput memory = output_of(&self, to);
            const nb::gil_scoped_release release;
            self.uploader.read(reader, tensor, memory);
          },
          nb::arg("reader"), nb::arg("tensor"), nb::arg("to"),
          nb::sig("def read(self, reader: CheckpointReader, tensor: CheckpointTensor, to: object) "
                  "-> None"),
          "The bytes of any tensor of the reader.")
      .def(
          "write",
          [](HeldUploader& self, nb::handle from, nb::handle to) {
            const DeviceOutput memory = output_of(&self, to);
            const HostView bytes = readable_memory(from, "from_");
            const nb::gil_scoped_release release;
            self.uploader.write(bytes.data, bytes.bytes, memory);
          },
          nb::arg("from_"), nb::arg("to"),
          nb::sig("def write(self, from_: object, to: object) -> None"),
          "A contiguous array of the host, which may go once this returns.")
      .def(
          "finish",
          [](HeldUploader& self) {
            {
              const nb::gil_scoped_release release;
              self.uploader.finish();
            }
            self.owners.clear();
          },
          "Waits until all has arrived. Launch nothing that reads the memory before.");
}

}  // namespace heddle::python
