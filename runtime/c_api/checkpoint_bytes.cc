// The C API of a checkpoint's bytes on the host. Uploads are in uploader.cc.
#include <fmt/format.h>

#include <functional>
#include <vector>

#include "generator/spec/document.h"
#include "heddle/error.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/checkpoint.h"

using heddle::CheckpointLayer;
using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::refuse;
using heddle::c_api::view;

namespace {

heddle::ByteSink to_cpp(heddle_sink_callback sink, void* user) {
  if (sink == nullptr) refuse("api.null", "sink is null");
  return [=](std::size_t offset, const void* data, std::size_t bytes) {
    return sink(user, offset, data, bytes) != 0;
  };
}

std::function<bool(const heddle::CheckpointProgress&)> to_cpp(
    const heddle_checkpoint* checkpoint, heddle_checkpoint_progress_callback progress, void* user) {
  if (progress == nullptr) return {};
  return [=](const heddle::CheckpointProgress& at) {
    return progress(user, checkpoint->index_of(at.layer), at.done, at.total, at.bytes_done,
                    at.bytes_total) != 0;
  };
}

}  // namespace

heddle_status heddle_checkpoint_pack(const heddle_checkpoint* checkpoint, size_t layer, void* to,
                                     size_t bytes) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(to, "to");
    checkpoint->reader.pack(checkpoint->layer(layer), to, bytes);
  });
}

heddle_status heddle_checkpoint_pack_to(const heddle_checkpoint* checkpoint, size_t layer,
                                        heddle_sink_callback sink, void* user) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    checkpoint->reader.pack(checkpoint->layer(layer), to_cpp(sink, user));
  });
}

heddle_status heddle_checkpoint_read(const heddle_checkpoint* checkpoint, const char* name,
                                     size_t name_length, void* to, size_t bytes) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    checkpoint->reader.read(checkpoint->tensor(view(name, name_length)), to, bytes);
  });
}

heddle_status heddle_checkpoint_read_to(const heddle_checkpoint* checkpoint, const char* name,
                                        size_t name_length, heddle_sink_callback sink, void* user) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    checkpoint->reader.read(checkpoint->tensor(view(name, name_length)), to_cpp(sink, user));
  });
}

heddle_status heddle_checkpoint_for_each_layer(const heddle_checkpoint* checkpoint,
                                               heddle_layer_callback work, int32_t jobs,
                                               heddle_checkpoint_progress_callback progress,
                                               void* user) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    if (work == nullptr) refuse("api.null", "work is null");
    checkpoint->reader.for_each_layer(
        [&](const CheckpointLayer& layer) {
          if (work(user, checkpoint->index_of(layer)) != 0) return;
          throw heddle::Error(heddle::ErrorCategory::kCancelled, "checkpoint.cancelled",
                              fmt::format("the caller's work asked to stop at layer \"{}\"",
                                          heddle::excerpt(layer.name)));
        },
        to_cpp(checkpoint, progress, user), jobs);
  });
}
