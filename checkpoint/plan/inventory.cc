#include "checkpoint/plan/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "checkpoint/modules/module_roles.h"
#include "generator/model/module_pattern.h"
#include "generator/model/unread_formats.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// What tensors of a quantised module are called. Those that belong to a layer that is read never
// come here.
struct Suffix {
  std::string_view text;
  const char* what;
};
constexpr const char* kLoneScale = "a scale without its weight";
constexpr const char* kPacked =
    "of a file that heddle repack has written, which cannot be packed again and of which only its "
    "metadata tells what it holds: give the checkpoint instead";
constexpr const char* kZeros = "zero points without their weight";
constexpr const char* kIndex = "an index of groups without its weight";
constexpr const char* kSparse =
    "weights with 2:4 sparsity, which are not read: they would need sparse kernels";
constexpr Suffix kSuffixes[] = {
    {".heddle", kPacked},
    {".heddle_perm", kPacked},
    {".weight_scale", kLoneScale},
    {".weight_scale_inv", kLoneScale},
    {".weight_scale_2", kLoneScale},
    {".weight_global_scale", kLoneScale},
    {".scale_inv", kLoneScale},
    {"_scale_inv", kLoneScale},
    {".act.scales", "factors of AWQ's scaled activation, which the engine has to apply"},
    {".gelu_impl.scales", "factors of AWQ's scaled activation, which the engine has to apply"},
    {".scales", kLoneScale},
    {".qzeros", kZeros},
    {".scaled_zeros", kZeros},
    {".weight_zero_point", kZeros},
    {".g_idx", kIndex},
    {".weight_g_idx", kIndex},
    {".weight_shape", "the shape of packed weights that are not there"},
    {".compressed", kSparse},
    {".bitmask", kSparse},
};

// Tensors of integers that are no codes: positions, masks, tables of routing, zero points of
// activations.
constexpr std::string_view kPlainIntegers[] = {
    "position_ids", "relative_position_index", "num_batches_tracked", "tid2eid",
    "inv_freq",     "input_zero_point"};

std::string_view leaf(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string_view module_of(std::string_view name) { return name.substr(0, name.rfind('.')); }

// A causal mask that some models store beside their attention: [1, 1, length, length].
bool is_mask(const TensorInfo& tensor) {
  const std::vector<std::int64_t>& shape = tensor.shape;
  return shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3] &&
         (leaf(tensor.name) == "bias" || leaf(tensor.name) == "masked_bias");
}

bool looks_like_codes(const TensorInfo& tensor) {
  switch (tensor.type) {
    case TensorType::kF8E4M3:
    case TensorType::kF8E5M2:
    case TensorType::kF8E8M0:
      return true;
    case TensorType::kU8:
    case TensorType::kI8:
      return !is_mask(tensor);
    case TensorType::kI16:
    case TensorType::kU16:
    case TensorType::kI32:
    case TensorType::kU32:
    case TensorType::kU64:
      return tensor.shape.size() > 1;
    default:
      return false;
  }
}

// Why the tensor looks quantised; nothing where it does not.
std::optional<std::string> suspicion(const TensorInfo& tensor) {
  for (const Suffix& suffix : kSuffixes) {
    if (tensor.name.ends_with(suffix.text)) return suffix.what;
  }
  const auto* const plain =
      std::find(std::begin(kPlainIntegers), std::end(kPlainIntegers), leaf(tensor.name));
  if (plain != std::end(kPlainIntegers) || !looks_like_codes(tensor)) return std::nullopt;
  const bool is_scale = tensor.name.ends_with("_scales") || tensor.name.ends_with("_scale");
  return is_scale ? kLoneScale : "codes whose scales are not there";
}

// Whatever type they have. ExLlamaV2 has packed words of the name q_scale.
bool is_cache_scale(const CheckpointConfig& config, const TensorInfo& tensor) {
  const bool words =
      leaf(tensor.name) == "q_scale" && !is_float(tensor.type) && bytes_of(tensor.type) > 1;
  return !words && role_of_module(config, tensor.name) == ModuleRole::kCacheScale;
}

bool names(const std::string& pattern, std::string_view tensor) {
  for (std::string_view at = tensor; !at.empty();) {
    if (matches_glob(pattern, at)) return true;
    const std::size_t dot = at.rfind('.');
    at = at.substr(0, dot == at.npos ? 0 : dot);
  }
  return false;
}

// The patterns of an option, and which of them name a tensor.
class Patterns {
 public:
  Patterns(const char* option, const std::vector<std::string>& patterns)
      : option_(option), patterns_(patterns), used_(patterns.size()) {}

  bool match(std::string_view tensor) {
    bool any = false;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (!names(patterns_[i], tensor)) continue;
      used_[i] = true;
      any = true;
    }
    return any;
  }

  // A layer is converted, copied or left out as a whole.
  void refuse_part(const LayerName& layer, const std::vector<std::string>& tensors) {
    for (const std::string& tensor : tensors) {
      if (!match(tensor)) continue;
      throw Error(ErrorCategory::kUsage, "checkpoint.choice",
                  fmt::format("{} names the tensor {} alone, which is a part of the layer \"{}\": "
                              "name the whole layer",
                              option_, excerpt(tensor), excerpt(layer.name)));
    }
  }

  // A misspelt pattern would do nothing without a word.
  void refuse_unused() const {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (used_[i]) continue;
      throw Error(ErrorCategory::kUsage, "checkpoint.choice",
                  fmt::format("{} \"{}\" names no tensor of the checkpoint", option_,
                              excerpt(patterns_[i])));
    }
  }

 private:
  const char* option_;
  const std::vector<std::string>& patterns_;
  std::vector<bool> used_;
};

// A head that is to be quantised cannot be left as it is, too.
void refuse_kept_head(const LayerName& layer, const char* option) {
  if (layer.code_bits == 0) return;
  throw Error(
      ErrorCategory::kUsage, "checkpoint.choice",
      fmt::format("{} names the layer \"{}\", which --lm-head quantises to {} bits: say one "
                  "of the two",
                  option, excerpt(layer.name), layer.code_bits));
}

}  // namespace

Inventory take_inventory(const Checkpoint& checkpoint, const CheckpointConfig& config,
                         const TensorChoice& choice, const PlainLayers* plain) {
  Inventory inventory;
  Patterns skip("--skip", choice.skip);
  Patterns keep("--keep", choice.keep);
  std::set<std::string> known;
  for (const auto& [name, entry] : checkpoint.tensors()) {
    std::optional<LayerName> layer = layer_of_codes(*entry.tensor, checkpoint);
    if (!layer && plain != nullptr) layer = plain->layer_of(*entry.tensor);
    if (!layer) continue;
    const std::vector<std::string> tensors = tensors_of(*layer, checkpoint);
    known.insert(tensors.begin(), tensors.end());
    const bool kept = keep.match(name);
    const bool left_out = skip.match(name);
    if (kept || left_out) inventory.chosen.insert(tensors.begin(), tensors.end());
    if (left_out) {
      refuse_kept_head(*layer, "--skip");
      inventory.skipped.insert(tensors.begin(), tensors.end());
      continue;
    }
    skip.refuse_part(*layer, tensors);
    if (kept) refuse_kept_head(*layer, "--keep");
    if (!kept) keep.refuse_part(*layer, tensors);
    if (!kept) {
      inventory.layers.push_back(*std::move(layer));
    } else if (!layer->is_plain()) {
      ++inventory.kept;
    }
  }
  if (const auto head = plain == nullptr ? std::nullopt : plain->shared_head()) {
    const bool kept = keep.match(head->plain_tensor());
    const bool skipped = skip.match(head->plain_tensor());
    if (kept || skipped) refuse_kept_head(*head, kept ? "--keep" : "--skip");
    if (!kept && !skipped) inventory.layers.push_back(*head);
  }
  std::map<std::string, std::string> unknown;  // by module: one line for all of its tensors
  for (const auto& [name, entry] : checkpoint.tensors()) {
    if (known.count(name) != 0) continue;
    const bool kept = keep.match(name);
    const bool left_out = skip.match(name);
    if (kept || left_out) inventory.chosen.insert(name);
    if (left_out) {
      inventory.skipped.insert(name);
      continue;
    }
    if (is_cache_scale(config, *entry.tensor)) continue;
    const std::optional<std::string> why = suspicion(*entry.tensor);
    const UnreadFormat* unread = format_of_tensor(
        name, [&](const std::string& other) { return checkpoint.find(other) != nullptr; });
    if ((!why && unread == nullptr) || kept) continue;
    const std::string module(module_of(name));
    const Scheme* scheme = config.quantization.scheme_of(module);
    std::string text = unread != nullptr
                           ? unread->refusal()
                           : fmt::format("{} {} is {}", leaf(name),
                                         describe(entry.tensor->type, entry.tensor->shape), *why);
    if (scheme != nullptr && !scheme->unread.empty()) text = scheme->unread;
    const auto [place, is_new] = unknown.try_emplace(module, text);
    if (!is_new && place->second != text) place->second += "; " + text;
  }
  skip.refuse_unused();
  keep.refuse_unused();
  for (auto& [module, reason] : unknown) inventory.unknown.push_back({module, std::move(reason)});
  std::sort(inventory.layers.begin(), inventory.layers.end(),
            [](const LayerName& a, const LayerName& b) { return a.name < b.name; });
  for (const LayerName& layer : inventory.layers) {
    if (!layer.shared_module.empty()) continue;
    // It cannot be told from which of the two the model is made.
    const std::string plain = layer.plain_tensor();
    if (checkpoint.find(plain) == nullptr || inventory.skipped.count(plain) != 0) continue;
    if (tensors_of(layer, checkpoint).front() == plain) continue;
    inventory.unknown.push_back({layer.name, "it has both codes and plain weights"});
  }
  const auto twice = std::adjacent_find(inventory.layers.begin(), inventory.layers.end(),
                                        [](const LayerName& a, const LayerName& b) {
                                          const bool coded = !a.is_plain() && !b.is_plain();
                                          return coded && a.name == b.name;
                                        });
  if (twice != inventory.layers.end()) {
    inventory.unknown.push_back({twice->name, "it has codes of two forms, of which one is right"});
  }
  return inventory;
}

}  // namespace heddle
