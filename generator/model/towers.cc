#include "generator/model/towers.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace heddle {
namespace {

// The members of a wrapper's config that describe what is not the language model.
struct Tower {
  std::string_view key;
  const char* name;
};
constexpr std::int64_t kMostTowerLayers = 1 << 12;
constexpr Tower kTowers[] = {{"vision_config", "vision tower"},
                             {"audio_config", "audio tower"},
                             {"talker_config", "talker"},
                             {"token2wav_config", "waveform decoder"},
                             {"code2wav_config", "waveform decoder"}};

}  // namespace

std::vector<DecodedOther> towers_of(const ConfigReader& config) {
  std::vector<DecodedOther> towers;
  for (const Tower& tower : kTowers) {
    const Node* const node = config.node(tower.key);
    if (node == nullptr || node->kind != Node::Kind::kObject) continue;
    std::int64_t layers = 1;
    std::string width;
    for (const std::string_view key : {"num_hidden_layers", "depth", "vt_num_hidden_layers",
                                       "encoder_layers", "n_layers", "layers"}) {
      const Node* const count = node->find(key);
      if (count == nullptr || !count->as_integer()) continue;
      layers = std::clamp<std::int64_t>(*count->as_integer(), 1, kMostTowerLayers);
      break;
    }
    for (const std::string_view key :
         {"hidden_size", "embed_dim", "vt_hidden_size", "d_model", "width"}) {
      const Node* const size = node->find(key);
      if (size == nullptr || !size->as_integer()) continue;
      width = " of width " + std::to_string(*size->as_integer());
      break;
    }
    towers.push_back({tower.name, static_cast<int>(layers),
                      "no kernel of Heddle serves encoders of images or sound yet (" +
                          std::to_string(layers) + " layers" + width + ")"});
  }
  return towers;
}

}  // namespace heddle
