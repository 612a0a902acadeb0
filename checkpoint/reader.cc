#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/files/work_queue.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/output_plan.h"
#include "checkpoint/output/packed_checkpoint.h"
#include "checkpoint/output/packed_file.h"
#include "generator/null_byte.h"
#include "generator/spec/document.h"
#include "generator/target/check_target.h"
#include "heddle/checkpoint.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

[[noreturn]] void refuse_use(const char* code, const std::string& message) {
  throw Error(ErrorCategory::kUsage, code, message);
}

template <class Ranks>
void check_rank(const Ranks& ranks, const char* of) {
  const auto& [rank, size] = ranks;
  if (size >= 1 && size <= Ranks::kMostSize && rank >= 0 && rank < size) return;
  refuse_use("checkpoint.rank",
             fmt::format("rank {} of {}{} is none; allowed: ranks 0 to size - 1 of a size of 1 "
                         "to {}",
                         rank, size, of, Ranks::kMostSize));
}

CheckpointOptions checked(const CheckpointOptions& options) {
  refuse_null_byte(options.config, "config");
  check_rank(options.parallel, "");
  check_rank(options.expert_parallel, " that share experts");
  return options;
}

const std::string& checked(const std::string& path) {
  refuse_null_byte(path, "path");
  return path;
}

ConfigRequest request_of(const CheckpointOptions& options) {
  check_arch(options.arch);
  return {options.engine_rotates, options.activation_bits, options.arch};
}

CheckpointTensor public_tensor(const TensorInfo& info) {
  return {info.name, info.type, info.shape, static_cast<std::size_t>(info.bytes)};
}

std::optional<CheckpointTensor> public_tensor(const std::optional<MadeTensor>& made) {
  if (!made.has_value()) return std::nullopt;
  return public_tensor(made->info);
}

// In what ascends by name; null if it is not there.
template <class Named>
const Named* find(const std::vector<Named>& all, std::string_view name) {
  const auto found =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const Named& one, std::string_view wanted) { return one.name < wanted; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

// The tensors refer to checkpoint and config, so none of them is ever moved.
struct CheckpointReader::State {
  State(const std::string& path, const CheckpointOptions& options)
      : checkpoint(path),
        is_packed_file(is_packed(checkpoint)),
        config(is_packed_file
                   ? CheckpointConfig()
                   : read_checkpoint_config(
                         read_config_files(options.config.empty() ? require_config_beside(path)
                                                                  : options.config),
                         request_of(options))) {
    const PackOptions pack = {options.fuse,           options.choice, options.parallel,
                              options.gated,          options.dense,  options.lm_head_bits,
                              options.expert_parallel};
    PackedCheckpoint packed =
        is_packed_file
            ? read_packed_checkpoint(checkpoint, pack, request_of(options), PackedUse::kLaunches)
            : packed_checkpoint(checkpoint, config, pack);
    expect_quantised(packed, pack);
    for (PackedLayerTensors& tensors : packed.layers) add(std::move(tensors));
    for (MadeTensor& tensor : packed.others) {
      plain.push_back(public_tensor(tensor.info));
      add(std::move(tensor));
    }
    experts = std::move(packed.experts);
    unserved = std::move(packed.unserved);
    notes = std::move(packed.notes);
  }

  const MadeTensor& at(const CheckpointTensor& tensor) const {
    const auto found = made.find(tensor.name);
    if (found == made.end()) {
      refuse_use("checkpoint.no_tensor",
                 fmt::format("the checkpoint has no tensor \"{}\"", excerpt(tensor.name)));
    }
    const CheckpointTensor own = public_tensor(found->second.info);
    if (own.type != tensor.type || own.shape != tensor.shape || own.bytes != tensor.bytes) {
      refuse_use("checkpoint.no_tensor",
                 fmt::format("the checkpoint's tensor \"{}\" has another type or shape",
                             excerpt(tensor.name)));
    }
    return found->second;
  }

  // What the checkpoint has of a module or tensor of this name, as the end of a message; empty
  // where it has nothing.
  std::string instead(std::string_view name) const {
    const std::string_view module = name.substr(0, name.rfind('.'));
    for (const CheckpointLayer& layer : layers) {
      for (const CheckpointPart& part : layer.parts) {
        if (part.name == name || part.name == module) {
          return fmt::format("; it is packed in the layer \"{}\"", excerpt(layer.name));
        }
      }
    }
    const std::string weight = std::string(name) + ".weight";
    if (find(plain, weight) != nullptr) {
      return fmt::format(
          "; \"{}\" is a plain tensor (CheckpointOptions::dense packs linear layers "
          "of 16 bits)",
          excerpt(weight));
    }
    return find(plain, name) != nullptr ? "; it is a plain tensor" : "";
  }

  // Throws unless the layer is one of this checkpoint, or of another one that is packed alike.
  void expect_own(const CheckpointLayer& layer) const {
    const CheckpointLayer* own = find(layers, layer.name);
    const bool is_own = own != nullptr && own->matrices == layer.matrices &&
                        own->spec.canonical_json() == layer.spec.canonical_json();
    if (is_own) return;
    refuse_use(
        "checkpoint.no_tensor",
        fmt::format("the checkpoint has no layer \"{}\" with this spec", excerpt(layer.name)));
  }

  const Checkpoint checkpoint;
  const bool is_packed_file;  // heddle repack wrote it
  const CheckpointConfig config;
  std::vector<CheckpointLayer> layers;
  std::vector<CheckpointTensor> plain;
  std::vector<CheckpointExperts> experts;
  std::vector<UnservedLayer> unserved;
  std::vector<std::string> notes;
  std::map<std::string, MadeTensor> made;  // by name

 private:
  void add(MadeTensor tensor) {
    std::string name = tensor.info.name;
    if (made.count(name) != 0) refuse_collision(name);
    made.emplace(std::move(name), std::move(tensor));
  }

  void add(PackedLayerTensors tensors) {
    PackedLayer& from = tensors.layer;
    CheckpointLayer layer{from.group.name,
                          {},
                          std::move(from.spec),
                          from.matrices,
                          public_tensor(tensors.weights.info),
                          1,
                          public_tensor(tensors.permutation),
                          public_tensor(tensors.bias),
                          public_tensor(tensors.pre_scale),
                          public_tensor(tensors.input_scale),
                          0};
    layer.layout_version = kLayoutVersion;
    for (std::size_t i = 0; i < from.group.parts.size(); ++i) {
      layer.parts.push_back({from.group.parts[i].name, from.heights[i]});
      if (is_packed_file || !from.experts.empty()) continue;
      for (const std::string& name : tensors_of(from.group.parts[i], checkpoint)) {
        layer.source_bytes += checkpoint.at(name).tensor->bytes;
      }
    }
    for (const std::string& name : from.expert_tensors) {
      layer.source_bytes += checkpoint.at(name).tensor->bytes;
    }
    if (from.model_experts != 0) {  // they are alike
      layer.source_bytes = layer.source_bytes / static_cast<std::size_t>(from.model_experts) *
                           static_cast<std::size_t>(from.matrices);
    }
    if (is_packed_file) layer.source_bytes = layer.packed.bytes;
    add(std::move(tensors.weights));
    for (auto* companion :
         {&tensors.permutation, &tensors.bias, &tensors.pre_scale, &tensors.input_scale}) {
      if (companion->has_value()) add(std::move(**companion));
    }
    layers.push_back(std::move(layer));
  }
};

CheckpointReader::CheckpointReader(const std::string& path, const CheckpointOptions& options)
    : state_(std::make_shared<const State>(checked(path), checked(options))) {}

const std::vector<CheckpointLayer>& CheckpointReader::layers() const noexcept {
  return state_->layers;
}
const std::vector<CheckpointTensor>& CheckpointReader::tensors() const noexcept {
  return state_->plain;
}
const std::vector<CheckpointExperts>& CheckpointReader::experts() const noexcept {
  return state_->experts;
}
const std::vector<UnservedLayer>& CheckpointReader::unserved() const noexcept {
  return state_->unserved;
}
const std::vector<std::string>& CheckpointReader::notes() const noexcept { return state_->notes; }

const CheckpointLayer& CheckpointReader::layer(std::string_view name) const {
  if (const CheckpointLayer* found = find(state_->layers, name)) return *found;
  if (const UnservedLayer* unserved = find(state_->unserved, name)) {
    refuse_use("checkpoint.no_layer", fmt::format("no kernel takes the layer \"{}\": {}",
                                                  excerpt(name), unserved->reason));
  }
  refuse_use("checkpoint.no_layer", fmt::format("the checkpoint has no layer \"{}\"{}",
                                                excerpt(name), state_->instead(name)));
}
const CheckpointTensor& CheckpointReader::tensor(std::string_view name) const {
  if (const CheckpointTensor* found = find(state_->plain, name)) return *found;
  refuse_use("checkpoint.no_tensor", fmt::format("the checkpoint has no plain tensor \"{}\"{}",
                                                 excerpt(name), state_->instead(name)));
}

void CheckpointReader::pack(const CheckpointLayer& layer, void* to, std::size_t bytes) const {
  state_->expect_own(layer);
  read(layer.packed, to, bytes);
}

void CheckpointReader::pack(const CheckpointLayer& layer, const ByteSink& sink) const {
  state_->expect_own(layer);
  read(layer.packed, sink);
}

void CheckpointReader::read(const CheckpointTensor& tensor, void* to, std::size_t bytes) const {
  const std::size_t needed = state_->at(tensor).info.bytes;
  if (bytes < needed) {
    refuse_use("checkpoint.too_small", fmt::format("the memory for the tensor \"{}\" has {} bytes; "
                                                   "needed: {}",
                                                   excerpt(tensor.name), bytes, needed));
  }
  if (to == nullptr && needed > 0) {
    refuse_use("checkpoint.null",
               fmt::format("the memory for the tensor \"{}\" is null", excerpt(tensor.name)));
  }
  read(tensor, [to](std::size_t offset, const void* data, std::size_t count) {
    std::memcpy(static_cast<std::uint8_t*>(to) + offset, data, count);
    return true;
  });
}

void CheckpointReader::read(const CheckpointTensor& tensor, const ByteSink& sink) const {
  const MadeTensor& made = state_->at(tensor);
  if (!sink) {
    refuse_use("checkpoint.null",
               fmt::format("the sink for the tensor \"{}\" is empty", excerpt(tensor.name)));
  }
  ByteStream stream(sink, made.info.bytes);
  made.make(&stream);
  stream.finish();
}

void CheckpointReader::for_each_layer(
    const std::function<void(const CheckpointLayer& layer)>& work,
    const std::function<bool(const CheckpointProgress&)>& progress, int jobs) const {
  const std::vector<CheckpointLayer>& layers = state_->layers;
  if (jobs < 0) refuse_use("checkpoint.jobs", fmt::format("jobs is {}; allowed: 0 and more", jobs));
  if (!work) refuse_use("checkpoint.null", "there is no work to do for each layer");
  std::uint64_t total = 0;
  for (const CheckpointLayer& layer : layers) total += layer.packed.bytes;
  std::mutex mutex;
  std::size_t done = 0;
  std::uint64_t bytes = 0;
  run_all(layers.size(), jobs, [&](std::size_t i) {
    work(layers[i]);
    const std::lock_guard<std::mutex> lock(mutex);
    ++done;
    bytes += layers[i].packed.bytes;
    if (progress && !progress({layers[i], done, layers.size(), bytes, total})) {
      throw Error(ErrorCategory::kCancelled, "checkpoint.cancelled",
                  fmt::format("the caller's progress callback asked to stop after {} of {} layers",
                              done, layers.size()));
    }
  });
}

}  // namespace heddle
