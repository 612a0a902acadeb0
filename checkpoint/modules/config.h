// CheckpointConfig: what the configs of a model say about how a checkpoint's tensors are to be
// read.
#ifndef HEDDLE_CHECKPOINT_MODULES_CONFIG_H_
#define HEDDLE_CHECKPOINT_MODULES_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/decoder.h"
#include "generator/model/gate.h"
#include "generator/model/quantization.h"
#include "heddle/model.h"
#include "heddle/spec.h"

namespace heddle {

// How the rows of a fused query, key and value matrix follow each other in the checkpoint.
struct FusedQkv {
  std::string module;        // the last component of its name: "query_key_value"
  std::int64_t groups = 0;   // each of them has...
  std::int64_t queries = 0;  // ... so many heads of queries, then one of keys and one of values
  bool operator==(const FusedQkv&) const = default;
};

// Modules whose rows one kernel may take together, by the last components of their names.
struct Fusion {
  std::string name;                // "qkv_proj"
  std::vector<std::string> parts;  // in the order of their rows
  bool operator==(const Fusion&) const = default;
};

// Where a model's head and its embeddings may be in a checkpoint.
struct HeadPlace {
  std::string body;  // the module with the embeddings: "model"
  std::string head;  // "lm_head"
};

// Shapes come from the tensors; the config decides what they do not tell, and must agree with them.
struct CheckpointConfig {
  std::string model_type;
  std::optional<DType> dtype;  // torch_dtype: kFp16 or kBf16, else absent
  Quantization quantization;
  std::int64_t hidden_size = 0;  // these are 0 where they are not said
  std::int64_t heads = 0;        // of queries
  std::int64_t kv_heads = 0;
  // Weights are stored as [K, N]: GPT-2's Conv1D.
  bool transposed_linears = false;
  // How the model type's fused rows are ordered, if they are not all queries, then all keys, then
  // all values.
  std::optional<FusedQkv> fused_qkv;
  // What engines fuse: queries, keys and values, gate and up, and what the model type has beside.
  std::vector<Fusion> fusions = usual_fusions();
  // The usual place first.
  std::vector<HeadPlace> head_places = {{"model", "lm_head"}};
  // The head has the weights of the embeddings; of model types in the table of families.
  bool tied_head = false;
  // What gated feed-forward layers compute, and the paths that the list of decoder layers may have;
  // of model types in the table of families.
  std::optional<GateRule> gate;
  std::vector<std::string> layer_lists;
  // The model type is in the table of families.
  bool is_known = false;
  // All layers with their sides; absent where the config lacks fields that say them, or has layers
  // that the row of its family does not describe.
  std::optional<Decoder> decoder;
  // Of a known model type, what it lacks or has: "/num_experts_per_tok: the field is required".
  std::string why_no_decoder;

  static std::vector<Fusion> usual_fusions();
};

// Throws Error(kSpec) for texts that are no such configs and fields that no model can have, of a
// wrong type or out of range, Error(kUnsupported, "model.quantization") for a quantisation that
// cannot be read.
CheckpointConfig read_checkpoint_config(const ModelConfigTexts& texts);
// What config.json alone says, without the files beside it.
CheckpointConfig read_checkpoint_config(std::string_view json);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_MODULES_CONFIG_H_
