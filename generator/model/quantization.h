// Quantization: what a model's config says about how the weights of each module are stored.
#ifndef HEDDLE_GENERATOR_MODEL_QUANTIZATION_H_
#define HEDDLE_GENERATOR_MODEL_QUANTIZATION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/cache_scheme.h"
#include "generator/model/config_reader.h"
#include "generator/model/module_rules.h"
#include "heddle/spec.h"

namespace heddle {

// How the tensors of a module hold its codes; docs/checkpoints.md has the bytes of each.
enum class Storage {
  kAwq,          // <module>.qweight I32 [K, N / 8], in AWQ's order
  kAwqGemv,      // <module>.qweight I32 [N, K / 8]
  kGptq,         // <module>.qweight, a stream of bits down each column
  kPacked,       // <module>.weight_packed, a stream of bits along each row
  kQuarkPacked,  // <module>.weight I32 [K, N / 8], in AWQ's order or in that of the columns
  kPlain,        // a code to a byte, or two codes of four bits: the tensors tell the rest
};

// How the activations of one module are quantised.
struct ActivationScheme {
  DType dtype = DType::kInt8;  // of eight bits
  RowGranularity granularity = RowGranularity::kToken;
  bool symmetric = true;
  bool is_static = false;                            // with kTensor: the checkpoint has the scale
  RowScaleDtype scale_dtype = RowScaleDtype::kFp32;  // of kGroup
  std::string unserved{};  // "groups of 128 columns": what no kernel is made for; else empty

  bool operator==(const ActivationScheme&) const = default;
};

// How the weights of one module are quantised. Where the config does not say the groups they follow
// from the shape of the scales.
struct Scheme {
  Storage storage = Storage::kPlain;
  WeightType type = WeightType::kUint;
  int bits = 4;
  std::optional<int> group_size;   // columns, kPerChannel or kPerTensor
  int block_rows = 1;              // rows that share a scale: FP8 by block
  bool symmetric = true;           // the zero point is 2^(bits-1), or 0 for signed codes
  bool zero_is_minus_one = false;  // GPTQ v1 stores zero points minus one
  int word_bytes = 4;              // kGptq: of the integers that hold the stream
  bool awq_order = true;           // kQuarkPacked: the columns of a word are in AWQ's order
  std::optional<DType> scale_dtype;
  bool tensor_scale = false;
  bool act_order = false;  // the config allows it; g_idx tells
  bool pre_scale = false;
  // What kernels take in eight bits; absent where they take 16, whatever the config says.
  std::optional<ActivationScheme> activation{};
  // Why modules of this scheme cannot be read, and what would be needed; empty where they can.
  std::string unread;

  bool operator==(const Scheme&) const = default;
};

// Immutable once it was read: any thread may call it.
class Quantization {
 public:
  // The config's "quant_method": "awq", "gptq" ...; empty where the model is not quantised.
  const std::string& method() const noexcept { return method_; }
  // Of the object that says so: "/quantization_config".
  const std::string& pointer() const noexcept { return pointer_; }
  // What the module's weights are, or null where the config leaves them as they were. `module` is
  // its path from the model's root: "model.layers.0.mlp.down_proj". Throws what
  // ModuleRules::find() throws of patterns that take too long.
  const Scheme* scheme_of(std::string_view module) const;
  // The same of a table of embeddings, which some configs name apart from linear modules.
  const Scheme* scheme_of_table(std::string_view module) const;
  // Whether the config says which tables are quantised; else their tensors show it.
  bool names_tables() const noexcept { return names_tables_; }
  // Whether any module may have quantised weights.
  bool has_weights() const noexcept { return !schemes_.empty(); }
  // The key-value cache that the config says to have scales for; note_of() tells what of it.
  const std::optional<CacheScheme>& cache() const noexcept { return cache_; }
  // What a user should know: activations that are quantised, too ...
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  // The engine has to rotate activations at run time.
  bool rotates() const noexcept { return rotates_; }

  // For tests: every module has this scheme.
  static Quantization uniform(std::string method, const Scheme& scheme);

 private:
  friend class QuantizationBuilder;

  std::string method_;
  std::string pointer_;
  std::vector<Scheme> schemes_;
  ModuleRules rules_;  // to an index into schemes_
  // The same, for modules that rules_ has: stored with 2:4 sparsity.
  ModuleRules sparsity_{rules_.work()};
  ModuleRules tables_{rules_.work()};  // as rules_, of tables of embeddings, with names_tables_
  bool names_tables_ = false;
  std::optional<CacheScheme> cache_;
  std::vector<std::string> notes_;
  bool rotates_ = false;
};

// The documents that say how a model is quantised. The nodes outlive the call that takes them; null
// where there is no such file.
struct QuantizationSources {
  const Node* config = nullptr;           // config.json
  const Node* hf_quant_config = nullptr;  // Model Optimizer's hf_quant_config.json
  const Node* quantize_config = nullptr;  // AutoGPTQ's quantize_config.json, AutoAWQ's
  bool engine_rotates = false;            // this and those below as in ModelConfigTexts
  int activation_bits = 0;
  int arch = 0;
};

// Throws Error(kUnsupported, "model.quantization") for a quantisation that Heddle does not read,
// with what would be needed, and for documents that contradict each other. Adds findings for
// malformed fields; the result is good only if there are none.
Quantization read_quantization(const QuantizationSources& sources, Findings& findings);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_QUANTIZATION_H_
