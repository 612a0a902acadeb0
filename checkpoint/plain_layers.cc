#include "checkpoint/plain_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "checkpoint/module_place.h"
#include "generator/model/head_weight.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::string_view kWeight = ".weight";

// Tables that turn the number of a token into a vector, by their path from the model's body.
constexpr std::string_view kTokenTables[] = {
    "embed_tokens", "wte", "word_embeddings", "embed_in", "embeddings", "tok_embeddings", "embed"};

[[noreturn]] void refuse(ErrorCategory category, const char* code, const std::string& message) {
  throw Error(category, code, message);
}

std::string weight_of(const std::string& module) { return module + std::string(kWeight); }

bool is_float_matrix(const TensorInfo& tensor) {
  return is_float(tensor.type) && tensor.shape.size() == 2;
}

// The tensor that a head shares; empty where the checkpoint has none.
std::string token_table(const Checkpoint& checkpoint, const std::string& body) {
  for (const std::string_view path : kTokenTables) {
    std::string name = weight_of(module_in(body, path));
    const TensorInfo* found = checkpoint.find(name);
    if (found != nullptr && is_float_matrix(*found)) return name;
  }
  return {};
}

bool has_codes(const Checkpoint& checkpoint, const std::string& module) {
  return std::any_of(checkpoint.tensors().begin(), checkpoint.tensors().end(), [&](const auto& at) {
    const std::optional<LayerName> layer = layer_of_codes(*at.second.tensor, checkpoint);
    return layer && layer->name == module;
  });
}

const LinearRow* row_with_path(const LinearRows& rows, std::string_view path) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const LinearRow& row) { return row.path == path; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

bool is_dense(Module module) {
  return module == Module::kLinear || module == Module::kConv1D || module == Module::kSmall;
}

std::string module_in(const std::string& body, std::string_view path) {
  return body.empty() ? std::string(path) : body + "." + std::string(path);
}

PlainLayers::PlainLayers(const Checkpoint& checkpoint, const CheckpointConfig& config, bool dense,
                         int lm_head_bits)
    : checkpoint_(checkpoint), config_(config), dense_(dense) {
  if (lm_head_bits != 0 && !is_head_bits(lm_head_bits)) {
    refuse(ErrorCategory::kUsage, "checkpoint.lm_head",
           fmt::format("lm_head cannot be quantised to {} bits; allowed: 4, 8, and 0 for none",
                       lm_head_bits));
  }
  if (dense && !config.is_known) {
    const std::string type = config.model_type.empty()
                                 ? "a config without a model_type"
                                 : fmt::format("the model type \"{}\"", excerpt(config.model_type));
    refuse(ErrorCategory::kUnsupported, "checkpoint.dense",
           fmt::format("which tensors of {} are linear layers is not known: layers of 16 bits are "
                       "packed of the types that heddle models lists",
                       type));
  }
  if (dense || lm_head_bits != 0) find_head(lm_head_bits);
}

void PlainLayers::find_head(int bits) {
  for (const HeadPlace& place : config_.head_places) {
    if (has_codes(checkpoint_, place.head)) {
      if (bits == 0) return;
      refuse(ErrorCategory::kUnsupported, "checkpoint.lm_head",
             fmt::format("the layer \"{}\" is quantised already: it is packed as it is, not "
                         "quantised to {} bits",
                         excerpt(place.head), bits));
    }
  }
  LayerName head;
  head.kind = LayerName::Kind::kPlain;
  head.code_bits = bits;
  for (const HeadPlace& place : config_.head_places) {
    const TensorInfo* const own = checkpoint_.find(weight_of(place.head));
    const std::string shared = config_.tied_head ? token_table(checkpoint_, place.body) : "";
    if (shared.empty() && (own == nullptr || !is_float_matrix(*own))) continue;
    if (!shared.empty() && own != nullptr) {
      notes_.push_back(
          fmt::format("{} has the weights of {} (tie_word_embeddings): its own tensor "
                      "{} is copied, but not packed",
                      excerpt(place.head), excerpt(shared), excerpt(own->name)));
    }
    head.name = place.head;
    head.shared_tensor = shared;
    head_ = std::move(head);
    return;
  }
  const std::string missing = fmt::format(
      "the checkpoint has neither a matrix {}{}", weight_of(config_.head_places[0].head),
      config_.tied_head ? " nor embeddings whose weights it shares" : " nor its codes");
  if (bits != 0) {
    refuse(ErrorCategory::kUnsupported, "checkpoint.lm_head",
           missing + ": there is no lm_head to quantise");
  }
  notes_.push_back(missing + ": no lm_head is packed");
}

const LinearRow* PlainLayers::row_of(const std::string& module) const {
  const FamilyRow* const family = find_family(config_.model_type);
  if (family == nullptr) return nullptr;
  for (const HeadPlace& place : config_.head_places) {
    for (const LinearRow& row : family->outside) {
      if (module == module_in(place.body, row.path)) return &row;
    }
  }
  const ModulePlace place = place_of_module(module);
  const auto& lists = config_.layer_lists;
  if (std::find(lists.begin(), lists.end(), place.list) == lists.end()) return nullptr;
  for (const MixerRow& mixer : family->mixers) {
    if (const LinearRow* row = row_with_path(mixer.linears, place.path)) return row;
  }
  for (const FeedForwardRow& feed_forward : family->feed_forwards) {
    if (const LinearRow* row = row_with_path(feed_forward.linears, place.path)) return row;
  }
  return nullptr;
}

std::optional<LayerName> PlainLayers::layer_of(const TensorInfo& tensor) const {
  if (!tensor.name.ends_with(kWeight)) return std::nullopt;
  LayerName layer;
  layer.name = tensor.name.substr(0, tensor.name.size() - kWeight.size());
  layer.kind = LayerName::Kind::kPlain;
  if (head_ && head_->name == layer.name && is_float_matrix(tensor)) {
    return head_->shared_tensor.empty() ? head_ : std::nullopt;
  }
  if (!dense_) return std::nullopt;
  const LinearRow* const row = row_of(layer.name);
  if (row == nullptr || !is_dense(row->module)) return std::nullopt;
  // Also a tensor that is no matrix of 16 bits: what reads it refuses it by name.
  layer.transposed = row->module == Module::kConv1D;
  return layer;
}

std::optional<LayerName> PlainLayers::shared_head() const {
  return head_ && !head_->shared_tensor.empty() ? head_ : std::nullopt;
}

}  // namespace heddle
