#include "checkpoint/plan/lost_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "checkpoint/modules/module_place.h"
#include "checkpoint/plan/plain_layers.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

class LostVectors {
 public:
  LostVectors(const Checkpoint& checkpoint, const CheckpointConfig& config,
              const Inventory& inventory)
      : checkpoint_(checkpoint), config_(config), inventory_(inventory) {}

  std::vector<UnknownTensors> find() {
    const auto& lists = config_.layer_lists;
    for (const std::string& list : std::set<std::string>(lists.begin(), lists.end())) {
      for (const DecodedBlock& block : config_.decoder->blocks) {
        for (const int layer : block.facts.layers) {
          add_layer(fmt::format("{}.{}.", list, layer), block);
        }
      }
    }
    for (const auto& [path, biases] : others_) {
      if (biases.present.empty()) continue;
      for (const std::string& module : biases.without) {
        lose(module, module + ".bias", "there is " + excerpt(biases.present));
      }
    }
    return std::move(lost_);
  }

 private:
  // Of the same module of all layers, where the config says nothing of a bias.
  struct Biases {
    std::string present;  // the first that is not all zeros
    std::vector<std::string> without;
  };

  void add_layer(const std::string& at, const DecodedBlock& block) {
    for (const DecodedLinear& linear : block.linears) {
      if (!is_dense(linear.row->module)) continue;
      const std::string module = at + std::string(linear.row->path);
      if (!is_there(module)) continue;
      const TensorInfo* const bias = checkpoint_.find(module + ".bias");
      if (bias == nullptr && linear.bias) {
        lose(module, module + ".bias", "by the config the layer has a bias");
      } else if (bias == nullptr) {
        others_[linear.row->path].without.push_back(module);
      } else if (!linear.bias && others_[linear.row->path].present.empty() && !is_zero(*bias)) {
        others_[linear.row->path].present = bias->name;
      }
    }
    if (block.sinks_path.empty()) return;
    const std::string sinks = at + block.sinks_path;
    const std::string attention = sinks.substr(0, sinks.rfind('.'));
    if (!is_there(attention)) return;
    const TensorInfo* const found = checkpoint_.find(sinks);
    const std::int64_t heads = block.facts.attention.heads;
    if (found == nullptr) {
      lose(attention, sinks, "by the config its attention has sinks");
    } else if (found->bytes !=
               static_cast<std::uint64_t>(heads) * static_cast<unsigned>(bytes_of(found->type))) {
      lost_.push_back(
          {attention, fmt::format("the tensor {} is {}, expected one value for each of {} heads",
                                  excerpt(sinks), describe(found->type, found->shape), heads)});
    }
  }

  void lose(const std::string& module, const std::string& tensor, const std::string& why) {
    lost_.push_back({module, fmt::format("the tensor {} is missing: {}", excerpt(tensor), why)});
  }

  // Whether the checkpoint has a tensor in the module that the user did not choose.
  bool is_there(const std::string& module) const {
    const std::string inside = module + '.';
    const auto& tensors = checkpoint_.tensors();
    for (auto at = tensors.lower_bound(inside); at != tensors.end(); ++at) {
      if (!at->first.starts_with(inside)) return false;
      if (inventory_.chosen.count(at->first) == 0) return true;
    }
    return false;
  }

  bool is_zero(const TensorInfo& bias) const {
    const std::vector<std::uint8_t> bytes = checkpoint_.read(bias.name);
    return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
  }

  const Checkpoint& checkpoint_;
  const CheckpointConfig& config_;
  const Inventory& inventory_;
  std::map<std::string_view, Biases> others_;  // by path
  std::vector<UnknownTensors> lost_;
};

}  // namespace

std::vector<UnknownTensors> lost_vectors(const Checkpoint& checkpoint,
                                         const CheckpointConfig& config,
                                         const Inventory& inventory) {
  if (!config.decoder) return {};
  return LostVectors(checkpoint, config, inventory).find();
}

std::vector<UnknownTensors> lost_experts(const Checkpoint& checkpoint, const Inventory& inventory,
                                         const std::vector<MissingLayer>& missing) {
  if (checkpoint.is_one_shard()) return {};
  std::set<int> in_part;  // layers
  for (const std::string& name : inventory.skipped) in_part.insert(place_of_module(name).layer);
  std::vector<UnknownTensors> lost;
  for (const MissingLayer& layer : missing) {
    if (layer.experts == 0 || in_part.count(place_of_module(layer.name).layer) != 0) continue;
    lost.push_back(
        {layer.name,
         fmt::format("the checkpoint has no tensor of this product of {} experts{}", layer.experts,
                     layer.fields.empty() ? "" : " (" + layer.fields + ")")});
  }
  return lost;
}

}  // namespace heddle
