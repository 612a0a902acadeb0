#include "checkpoint/plan/plain_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "checkpoint/modules/module_roles.h"
#include "checkpoint/plan/plain_stacks.h"
#include "generator/model/head_weight.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::string_view kWeight = ".weight";

[[noreturn]] void refuse(ErrorCategory category, const char* code, const std::string& message) {
  throw Error(category, code, message);
}

[[noreturn]] void refuse_quantised(const std::string& head, int bits) {
  refuse(ErrorCategory::kUnsupported, "checkpoint.lm_head",
         fmt::format("the layer \"{}\" is quantised already: it is packed as it is, not quantised "
                     "to {} bits",
                     excerpt(head), bits));
}

std::string weight_of(const std::string& module) { return module + std::string(kWeight); }

bool is_float_matrix(const TensorInfo& tensor) {
  return is_float(tensor.type) && tensor.shape.size() == 2;
}

// The module of 16 bits that a head shares; empty where the checkpoint has none.
std::string token_table(const Checkpoint& checkpoint, const std::string& body) {
  for (const std::string_view path : token_tables()) {
    std::string module = module_in(body, path);
    const TensorInfo* found = checkpoint.find(weight_of(module));
    if (found != nullptr && is_float_matrix(*found)) return module;
  }
  return {};
}

// The layer of the module's codes; nothing where it has none.
std::optional<LayerName> codes_of(const Checkpoint& checkpoint, const std::string& module) {
  const auto& tensors = checkpoint.tensors();
  for (auto at = tensors.lower_bound(module); at != tensors.end(); ++at) {
    if (!at->first.starts_with(module)) break;
    std::optional<LayerName> layer = layer_of_codes(*at->second.tensor, checkpoint);
    if (layer && layer->name == module) return layer;
  }
  return std::nullopt;
}

}  // namespace

bool is_dense(Module module) {
  return module == Module::kLinear || module == Module::kConv1D || module == Module::kSmall;
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
  find_coded_head(lm_head_bits);
  if (!head_ && (dense || lm_head_bits != 0)) find_head(lm_head_bits);
}

void PlainLayers::find_coded_head(int bits) {
  if (!config_.tied_head) return;
  for (const HeadPlace& place : config_.head_places) {
    if (codes_of(checkpoint_, place.head)) return;
  }
  for (const HeadPlace& place : config_.head_places) {
    for (const std::string_view path : token_tables()) {
      std::optional<LayerName> head = codes_of(checkpoint_, module_in(place.body, path));
      if (!head) continue;
      head->shared_module = std::exchange(head->name, place.head);
      if (bits != 0) refuse_quantised(head->name, bits);
      notes_.push_back(fmt::format(
          "{} has the quantised weights of {} (tie_word_embeddings): it is packed from them, and "
          "they are copied for the look-up of tokens",
          excerpt(head->name), excerpt(head->shared_module)));
      head_ = std::move(head);
      return;
    }
  }
}

void PlainLayers::find_head(int bits) {
  for (const HeadPlace& place : config_.head_places) {
    if (codes_of(checkpoint_, place.head)) {
      if (bits == 0) return;
      refuse_quantised(place.head, bits);
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
                      excerpt(place.head), excerpt(weight_of(shared)), excerpt(own->name)));
    }
    head.name = place.head;
    head.shared_module = shared;
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

std::optional<LayerName> PlainLayers::layer_of(const TensorInfo& tensor) const {
  const bool experts = dense_ && config_.decoder.has_value();
  if (experts) {
    if (auto stack = plain_stack(tensor, checkpoint_, config_)) return stack;
  }
  if (!tensor.name.ends_with(kWeight)) return std::nullopt;
  LayerName layer;
  layer.name = tensor.name.substr(0, tensor.name.size() - kWeight.size());
  layer.kind = LayerName::Kind::kPlain;
  if (head_ && head_->name == layer.name && is_float_matrix(tensor)) {
    return head_->shared_module.empty() ? head_ : std::nullopt;
  }
  if (!dense_) return std::nullopt;
  const LinearRow* const row = row_of_module(config_, layer.name);
  if (row == nullptr) return std::nullopt;
  if (!is_dense(row->module) && !(experts && row->module == Module::kExpert)) return std::nullopt;
  // Also a tensor that is no matrix of 16 bits: what reads it refuses it by name.
  layer.transposed = row->module == Module::kConv1D;
  return layer;
}

std::optional<LayerName> PlainLayers::shared_head() const {
  return head_ && !head_->shared_module.empty() ? head_ : std::nullopt;
}

}  // namespace heddle
