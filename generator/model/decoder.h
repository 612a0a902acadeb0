// Decoder: the layers of a model, as the row of its family and its config say.
#ifndef HEDDLE_GENERATOR_MODEL_DECODER_H_
#define HEDDLE_GENERATOR_MODEL_DECODER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/config_documents.h"
#include "generator/model/family.h"
#include "generator/model/gate.h"
#include "generator/model/model_block.h"
#include "generator/model/towers.h"
#include "heddle/model.h"

namespace heddle {

// A row of the table with its numbers.
struct DecodedLinear {
  const LinearRow* row = nullptr;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t count = 1;
  std::string field{};  // of the config, that n was worked out from
  std::string k_field{};
  bool bias = false;
  bool by_kv_heads = false;  // its order of rows
  int fused_parts = 1;       // modules of its row's `fused` that engines take together

  bool operator==(const DecodedLinear&) const = default;
};

// Decoder layers that are alike.
struct DecodedBlock {
  ModelBlock facts;
  int halves = 0;  // of each layer: the mixer and the feed-forward layer, where it has them
  std::vector<DecodedLinear> linears;
  // What the config says that makes the feed-forward layer this one, of the first of the layers:
  // "/mlp_only_layers is [0]". Empty where the family has one kind.
  std::string feed_forward_fields;
  std::string experts_field;  // of the number of experts
  std::string sinks_path;     // AttentionRow::sinks_path; empty where there are no sinks
};

// A remark of the family's row that holds for the config.
struct DecodedRemark {
  Consequence consequence = Consequence::kNote;
  std::string text;
};

struct Decoder {
  const FamilyRow* family = nullptr;
  std::string body;         // the path of the module that has the layers: "model"
  std::string layers_path;  // "model.layers"
  std::string head;         // "lm_head"
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t vocabulary = 0;
  bool tied = false;
  bool head_bias = false;
  std::int64_t head_width = 0;
  double norm_epsilon = 0;
  NormKind norm = NormKind::kNone;
  NormPlace norm_place = NormPlace::kBefore;
  bool plain_sum = true;  // NormRow::plain_sum
  std::string activation;
  GateRule gate;
  double logit_softcap = 0;
  std::vector<std::pair<std::string, double>> multipliers;
  std::vector<DecodedBlock> blocks;    // in the order of their first layers
  std::vector<DecodedLinear> outside;  // paths from the body
  std::vector<DecodedOther> others;    // towers, layers that predict further tokens
  std::vector<DecodedRemark> remarks;
  std::vector<std::string> assumptions;
  // Fields of the config that say how experts are chosen, of which the row knows nothing; empty:
  // there are none.
  std::string ignored_routing;

  // What the remarks say to users.
  std::vector<std::string> notes() const;
  // What they say of ignored_routing.
  std::string routing_note() const;
  // The role of the module at this path below a decoder layer; kOther if no decoder layer has it.
  Role role_of(std::string_view path) const;
};

// kAttention: a cache is a matter of attention alone, and asks for no fields of other layers.
enum class DecodedParts { kAll, kAttention };

// Throws Error(kUnsupported, "model.type") for a model type that is not known, Error(kUnsupported,
// "model.field") for a field that asks for other layers than the family's row describes, and
// Error(kSpec) for fields that are missing or wrong.
Decoder decode(const ConfigDocuments& documents, Findings& findings,
               DecodedParts parts = DecodedParts::kAll);

// Whether engines take the modules together: they are inside of one module and have one name.
bool fuses(const LinearRow& a, const LinearRow& b);

// The paths that the list of decoder layers may have in a checkpoint: "model.layers". `wrapper` may
// be null.
std::vector<std::string> layer_lists(const FamilyRow& family, const Wrapper* wrapper);

// The last component of a module's path.
std::string leaf_of(std::string_view path);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_DECODER_H_
