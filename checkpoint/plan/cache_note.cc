#include "checkpoint/plan/cache_note.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "checkpoint/modules/module_roles.h"
#include "generator/model/cache_scheme.h"

namespace heddle {
namespace {

using Scales = CacheScheme::Scales;

// Keys and values, not queries or of attention's probabilities.
bool is_of_cache(const CheckpointConfig& config, const TensorInfo& tensor) {
  // Few names stand for scales of a cache, whose places in the model are looked for.
  if (!is_float(tensor.type) || role_of_name(tensor.name) != ModuleRole::kCacheScale ||
      role_of_module(config, tensor.name) != ModuleRole::kCacheScale) {
    return false;
  }
  constexpr std::string_view kOthers[] = {".q_scale", ".prob_scale", ".prob_output_scale",
                                          "q_proj.output_scale"};
  return std::none_of(std::begin(kOthers), std::end(kOthers),
                      [&](std::string_view end) { return tensor.name.ends_with(end); });
}

// How many scales the layer has that has the most; 0: there are none.
std::int64_t most_scales(const Checkpoint& checkpoint, const CheckpointConfig& config) {
  std::int64_t most = 0;
  for (const auto& [name, entry] : checkpoint.tensors()) {
    const TensorInfo& tensor = *entry.tensor;
    if (!is_of_cache(config, tensor)) continue;
    most = std::max(most, static_cast<std::int64_t>(tensor.bytes) / bytes_of(tensor.type));
  }
  return most;
}

}  // namespace

std::vector<std::string> notes_of_config(const Checkpoint& checkpoint,
                                         const CheckpointConfig& config) {
  std::vector<std::string> notes = config.quantization.notes();
  std::optional<CacheScheme> scheme = config.quantization.cache();
  const std::int64_t scales = most_scales(checkpoint, config);
  if (scales == 0 && !scheme) return notes;
  if (!scheme) scheme.emplace();
  if (scales == 1) {
    scheme->scales = Scales::kTensor;
  } else if (scales > 1) {
    const std::int64_t heads = config.kv_heads;
    const bool finer = scheme->scales == Scales::kHead || scheme->scales == Scales::kChannel;
    scheme->scales = scales == heads                    ? Scales::kHead
                     : heads > 0 && scales % heads == 0 ? Scales::kChannel
                     : finer                            ? scheme->scales
                                                        : Scales::kOther;
  }
  notes.insert(notes.begin(), note_of(*scheme));
  return notes;
}

}  // namespace heddle
