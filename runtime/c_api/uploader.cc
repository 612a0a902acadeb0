// The C API of uploads to the device.
#include "heddle/uploader.h"

#include "heddle/c/checkpoint.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/checkpoint.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::view;

struct heddle_uploader {
  heddle::Uploader uploader;
};

heddle_status heddle_uploader_create(void* stream, size_t staging_bytes,
                                     heddle_uploader** uploader) {
  return guarded([&] {
    need(uploader, "uploader");
    *uploader = nullptr;
    *uploader = new heddle_uploader{heddle::Uploader(
        stream, staging_bytes == 0 ? heddle::Uploader::kDefaultStagingBytes : staging_bytes)};
  });
}

void heddle_uploader_destroy(heddle_uploader* uploader) { delete uploader; }

heddle_status heddle_uploader_pack(heddle_uploader* uploader, const heddle_checkpoint* checkpoint,
                                   size_t layer, heddle_output to) {
  return guarded([&] {
    need(uploader, "uploader");
    need(checkpoint, "checkpoint");
    uploader->uploader.pack(checkpoint->reader, checkpoint->layer(layer), {to.data, to.bytes});
  });
}

heddle_status heddle_uploader_read(heddle_uploader* uploader, const heddle_checkpoint* checkpoint,
                                   const char* name, size_t name_length, heddle_output to) {
  return guarded([&] {
    need(uploader, "uploader");
    need(checkpoint, "checkpoint");
    uploader->uploader.read(checkpoint->reader, checkpoint->tensor(view(name, name_length)),
                            {to.data, to.bytes});
  });
}

heddle_status heddle_uploader_write(heddle_uploader* uploader, const void* from, size_t bytes,
                                    heddle_output to) {
  return guarded([&] {
    need(uploader, "uploader");
    uploader->uploader.write(from, bytes, {to.data, to.bytes});
  });
}

heddle_status heddle_uploader_finish(heddle_uploader* uploader) {
  return guarded([&] {
    need(uploader, "uploader");
    uploader->uploader.finish();
  });
}
