// ModuleRole: what a module of a model is for, by its name. Only linear layers become GEMMs.
#ifndef HEDDLE_GENERATOR_MODEL_MODULE_ROLE_H_
#define HEDDLE_GENERATOR_MODEL_MODULE_ROLE_H_

#include <span>
#include <string_view>

#include "generator/model/family.h"

namespace heddle {

enum class ModuleRole {
  kUnknown,  // no known name: packed as a linear layer if its tensors look like one, with a note
  kLinear,   // what tokens are multiplied with: dense layers, experts, routers, heads
  kTowerOrExtra,  // in a tower, a projector or layers that predict further tokens; taken as linear
  kEmbedding,     // a table whose rows are looked up: of tokens, positions, types of tokens
  kNorm,
  kConvolution,
  kCacheScale,  // a scale or zero point of keys, values, queries or attention's probabilities
  kAdapter,     // LoRA: added to the layer beside it
};

// By names that models of all types share, whatever the model is. The name of a tensor that is not
// its module's ".weight" stands for a module of its own: "model.layers.0.self_attn.k_scale".
ModuleRole role_of_name(std::string_view module);
// That of a module which a family's row describes.
ModuleRole role_of_row(const LinearRow& row);
// What the tables of tokens are called, below the body of the model.
std::span<const std::string_view> token_tables();

// Why no kernel serves such a module; null for those that are linear or are taken to be, as
// kUnknown is.
const char* why_no_gemm(ModuleRole role);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_MODULE_ROLE_H_
