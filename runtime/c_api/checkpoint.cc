// The C API of what a checkpoint has. Its bytes are in checkpoint_bytes.cc.
#include "runtime/c_api/checkpoint.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "checkpoint/files/tensor.h"
#include "checkpoint/reader_json.h"
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
  const heddle_checkpoint_options given =
      heddle::c_api::read_struct(from, "heddle_checkpoint_options");
  if (given.reserved != 0) {
    refuse("api.reserved",
           fmt::format("reserved of heddle_checkpoint_options is {}; allowed: 0", given.reserved));
  }
  options.config = heddle::c_api::path_of(view(given.config), "config");
  options.fuse = given.fuse != 0;
  options.choice.keep = to_cpp(given.keep, given.keep_count, "keep");
  options.choice.skip = to_cpp(given.skip, given.skip_count, "skip");
  options.parallel = {given.rank, given.size};
  options.expert_parallel = {given.expert_rank, given.expert_size};
  options.engine_rotates = given.engine_rotates != 0;
  options.gated = given.gated != 0;
  options.dense = given.dense != 0;
  options.lm_head_bits = given.lm_head_bits;
  options.activation_bits = given.activation_bits;
  options.arch = given.arch;
  return options;
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
  for (const heddle::CheckpointExperts& experts : reader.experts()) {
    expert_specs.push_back(experts.spec.canonical_json());
    routed_specs.push_back(experts.routed ? experts.routed->canonical_json() : "");
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
    values.expert_rank = defaults.expert_parallel.rank;
    values.expert_size = defaults.expert_parallel.size;
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

heddle_status heddle_checkpoint_json(const heddle_checkpoint* checkpoint, heddle_text* json) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(json, "json");
    *json = heddle::c_api::text_of(
        checkpoint->json.get([&] { return heddle::checkpoint_to_json(checkpoint->reader); }));
  });
}

heddle_status heddle_checkpoint_counts(const heddle_checkpoint* checkpoint, size_t* layers,
                                       size_t* tensors) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(layers, "layers");
    need(tensors, "tensors");
    *layers = checkpoint->reader.layers().size();
    *tensors = checkpoint->reader.tensors().size();
  });
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
    values.layout_version = from.layout_version;
    values.packed = to_c(from.packed);
    values.permutation = to_c(from.permutation);
    values.bias = to_c(from.bias);
    values.pre_scale = to_c(from.pre_scale);
    values.input_scale = to_c(from.input_scale);
    write_struct(values, layer, "heddle_checkpoint_layer_info");
  });
}

heddle_status heddle_checkpoint_experts_count(const heddle_checkpoint* checkpoint, size_t* count) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(count, "count");
    *count = checkpoint->reader.experts().size();
  });
}

heddle_status heddle_checkpoint_experts(const heddle_checkpoint* checkpoint, size_t index,
                                        heddle_checkpoint_experts_info* experts) {
  return guarded([&] {
    need(checkpoint, "checkpoint");
    need(experts, "experts");
    const auto& all = checkpoint->reader.experts();
    need_index(index, all.size(), "experts");
    const heddle::CheckpointExperts& from = all[index];
    heddle_checkpoint_experts_info values{};
    values.name = to_c(from.name);
    values.spec = to_c(checkpoint->expert_specs[index]);
    values.gate_up = checkpoint->index_of(checkpoint->reader.layer(from.gate_up));
    values.down = checkpoint->index_of(checkpoint->reader.layer(from.down));
    values.routed = to_c(checkpoint->routed_specs[index]);
    write_struct(values, experts, "heddle_checkpoint_experts_info");
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
