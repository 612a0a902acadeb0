// The C API of what a checkpoint has. Its bytes are in checkpoint_bytes.cc.
#include "runtime/c_api/checkpoint.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "checkpoint/tensor.h"
#include "generator/spec/document.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

using heddle::CheckpointLayer;
using heddle::CheckpointTensor;
using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_index;
using heddle::c_api::refuse;
using heddle::c_api::view;
using heddle::c_api::write_struct;

namespace {

heddle_text to_c(std::string_view text) { return {text.data(), text.size()}; }

heddle_checkpoint_tensor_info to_c(const CheckpointTensor& tensor) {
  return {to_c(tensor.name), to_c(to_string(tensor.type)),
          tensor.shape.empty() ? nullptr : tensor.shape.data(), tensor.shape.size(), tensor.bytes};
}

heddle_checkpoint_tensor_info to_c(const std::optional<CheckpointTensor>& tensor) {
  return tensor.has_value() ? to_c(*tensor) : heddle_checkpoint_tensor_info{};
}

std::vector<std::string> to_cpp(const heddle_text* texts, std::size_t count, const char* name) {
  constexpr std::size_t kMostTexts = std::size_t{1} << 20;
  if (count > 0) need(texts, name);
  if (count > kMostTexts) {
    refuse("api.count", fmt::format("there are {} {}; allowed: up to {}", count, name, kMostTexts));
  }
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < count; ++i) {
    strings.emplace_back(view(texts[i].data, texts[i].length));
  }
  return strings;
}

heddle::CheckpointOptions to_cpp(const heddle_checkpoint_options* from) {
  heddle::CheckpointOptions options;
  if (from == nullptr) return options;
  // Callers whose header lacks the field know no other activations.
  heddle_checkpoint_options older = {};
  older.activation_bits = 16;
  const heddle_checkpoint_options given =
      heddle::c_api::read_struct(from, "heddle_checkpoint_options", older);
  options.config = heddle::c_api::path_of(view(given.config), "config");
  options.fuse = given.fuse != 0;
  options.choice.keep = to_cpp(given.keep, given.keep_count, "keep");
  options.choice.skip = to_cpp(given.skip, given.skip_count, "skip");
  options.parallel = {given.rank, given.size};
  options.engine_rotates = given.engine_rotates != 0;
  options.gated = given.gated != 0;
  options.dense = given.dense != 0;
  options.lm_head_bits = given.lm_head_bits;
  options.activation_bits = given.activation_bits;
  options.arch = given.arch;
  return options;
}

const heddle::UnservedLayer& unserved_of(const heddle_checkpoint* checkpoint, std::size_t index) {
  need(checkpoint, "checkpoint");
  need_index(index, checkpoint->reader.unserved().size(), "unserved");
  return checkpoint->reader.unserved()[index];
}

// Runs work() and sets *count to what it returns.
template <class Work>
heddle_status counted(const heddle_checkpoint* checkpoint, size_t* count, const Work& work) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(count, "count");
    *count = work();
  });
}

}  // namespace

heddle_checkpoint::heddle_checkpoint(const std::string& path,
                                     const heddle::CheckpointOptions& options)
    : reader(path, options) {
  const auto add = [this](const CheckpointTensor& one) { tensors.emplace(one.name, &one); };
  for (const CheckpointLayer& layer : reader.layers()) {
    specs.push_back(layer.spec.canonical_json());
    add(layer.packed);
    for (const auto* companion :
         {&layer.permutation, &layer.bias, &layer.pre_scale, &layer.input_scale}) {
      if (companion->has_value()) add(**companion);
    }
  }
  for (const CheckpointTensor& one : reader.tensors()) add(one);
}

const CheckpointLayer& heddle_checkpoint::layer(std::size_t index) const {
  need_index(index, reader.layers().size(), "layers");
  return reader.layers()[index];
}

std::size_t heddle_checkpoint::index_of(const heddle::CheckpointLayer& layer) const {
  return static_cast<std::size_t>(&layer - reader.layers().data());
}

const CheckpointTensor& heddle_checkpoint::tensor(std::string_view name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    refuse("checkpoint.no_tensor",
           fmt::format("the checkpoint has no tensor \"{}\"", heddle::excerpt(name)));
  }
  return *found->second;
}

heddle_status heddle_checkpoint_options_init(heddle_checkpoint_options* options,
                                             size_t struct_size) {
  return guarded([&] {
    need(options, "options");
    const heddle::CheckpointOptions defaults;
    heddle_checkpoint_options values{};
    values.rank = defaults.parallel.rank;
    values.size = defaults.parallel.size;
    values.fuse = defaults.fuse ? 1 : 0;
    write_struct(values, struct_size, options, "heddle_checkpoint_options");
  });
}

heddle_status heddle_checkpoint_create(const char* path, size_t path_length,
                                       const heddle_checkpoint_options* options,
                                       heddle_checkpoint** checkpoint) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    *checkpoint = nullptr;
    *checkpoint = new heddle_checkpoint(heddle::c_api::path_of(view(path, path_length), "path"),
                                        to_cpp(options));
  });
}

void heddle_checkpoint_destroy(heddle_checkpoint* checkpoint) { delete checkpoint; }

heddle_status heddle_checkpoint_layer_count(const heddle_checkpoint* checkpoint, size_t* count) {
  return counted(checkpoint, count, [&] { return checkpoint->reader.layers().size(); });
}

heddle_status heddle_checkpoint_tensor_count(const heddle_checkpoint* checkpoint, size_t* count) {
  return counted(checkpoint, count, [&] { return checkpoint->reader.tensors().size(); });
}

heddle_status heddle_checkpoint_unserved_count(const heddle_checkpoint* checkpoint, size_t* count) {
  return counted(checkpoint, count, [&] { return checkpoint->reader.unserved().size(); });
}

heddle_status heddle_checkpoint_note_count(const heddle_checkpoint* checkpoint, size_t* count) {
  return counted(checkpoint, count, [&] { return checkpoint->reader.notes().size(); });
}

heddle_status heddle_checkpoint_layer(const heddle_checkpoint* checkpoint, size_t index,
                                      heddle_checkpoint_layer_info* layer) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(layer, "layer");
    const CheckpointLayer& from = checkpoint->layer(index);
    heddle_checkpoint_layer_info values{};
    values.name = to_c(from.name);
    values.spec = to_c(checkpoint->specs[index]);
    values.matrices = from.matrices;
    values.part_count = from.parts.size();
    values.source_bytes = from.source_bytes;
    values.layout_version = from.layout_version;
    values.packed = to_c(from.packed);
    values.permutation = to_c(from.permutation);
    values.bias = to_c(from.bias);
    values.pre_scale = to_c(from.pre_scale);
    values.input_scale = to_c(from.input_scale);
    write_struct(values, layer, "heddle_checkpoint_layer_info");
  });
}

heddle_status heddle_checkpoint_part(const heddle_checkpoint* checkpoint, size_t layer,
                                     size_t index, heddle_text* name, int64_t* rows) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(name, "name");
    need(rows, "rows");
    const std::vector<heddle::CheckpointPart>& parts = checkpoint->layer(layer).parts;
    need_index(index, parts.size(), "parts");
    *name = to_c(parts[index].name);
    *rows = parts[index].rows;
  });
}

heddle_status heddle_checkpoint_tensor(const heddle_checkpoint* checkpoint, size_t index,
                                       heddle_checkpoint_tensor_info* tensor) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(tensor, "tensor");
    need_index(index, checkpoint->reader.tensors().size(), "tensors");
    *tensor = to_c(checkpoint->reader.tensors()[index]);
  });
}

heddle_status heddle_checkpoint_find_layer(const heddle_checkpoint* checkpoint, const char* name,
                                           size_t name_length, size_t* layer) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(layer, "layer");
    *layer = checkpoint->index_of(checkpoint->reader.layer(view(name, name_length)));
  });
}

heddle_status heddle_checkpoint_find_tensor(const heddle_checkpoint* checkpoint, const char* name,
                                            size_t name_length, size_t* tensor) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(tensor, "tensor");
    const CheckpointTensor& found = checkpoint->reader.tensor(view(name, name_length));
    *tensor = static_cast<std::size_t>(&found - checkpoint->reader.tensors().data());
  });
}

heddle_status heddle_tensor_type_bytes(const char* type, size_t type_length, int32_t* bytes) {
  return guarded([&] {
    need(bytes, "bytes");
    const std::string_view word = view(type, type_length);
    const std::optional<heddle::TensorType> found = heddle::tensor_type(word);
    if (!found) {
      refuse("checkpoint.type", fmt::format("\"{}\" is no type of a tensor; allowed are those of "
                                            "safetensors: F16, BF16, F32, I32, U8 ...",
                                            heddle::excerpt(word)));
    }
    *bytes = heddle::bytes_of(*found);
  });
}

heddle_status heddle_checkpoint_unserved(const heddle_checkpoint* checkpoint, size_t index,
                                         heddle_text* name, heddle_text* reason) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(name, "name");
    need(reason, "reason");
    const heddle::UnservedLayer& one = unserved_of(checkpoint, index);
    *name = to_c(one.name);
    *reason = to_c(one.reason);
  });
}

heddle_status heddle_checkpoint_unserved_get(const heddle_checkpoint* checkpoint, size_t index,
                                             heddle_checkpoint_unserved_info* info) {
  return guarded([&] {
    const heddle::UnservedLayer& one = unserved_of(checkpoint, index);
    heddle_checkpoint_unserved_info values{};
    values.name = to_c(one.name);
    values.reason = to_c(one.reason);
    values.n = one.n;
    values.k = one.k;
    values.tensor_count = one.tensors.size();
    write_struct(values, info, "heddle_checkpoint_unserved_info");
  });
}

heddle_status heddle_checkpoint_unserved_tensor(const heddle_checkpoint* checkpoint, size_t index,
                                                size_t tensor, heddle_text* name) {
  return guarded([&] {
    need(name, "name");
    const heddle::UnservedLayer& one = unserved_of(checkpoint, index);
    need_index(tensor, one.tensors.size(), "tensor");
    *name = to_c(one.tensors[tensor]);
  });
}

heddle_status heddle_checkpoint_note(const heddle_checkpoint* checkpoint, size_t index,
                                     heddle_text* note) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(note, "note");
    need_index(index, checkpoint->reader.notes().size(), "notes");
    *note = to_c(checkpoint->reader.notes()[index]);
  });
}
