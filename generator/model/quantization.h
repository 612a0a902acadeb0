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
#include "generator/model/scheme.h"

namespace heddle {

// Immutable once it was read: any thread may call it.
class Quantization {
 public:
  // The config's "quant_method": "awq", "gptq" ...; empty where the model is not quantised.
  const std::string& method() const noexcept { return method_; }
  // The pointer of the object that says so: "/quantization_config".
  const std::string& pointer() const noexcept { return pointer_; }
  // What the module's weights are, or null where the config leaves them as they were. `module` is
  // its path from the model's root: "model.layers.0.mlp.down_proj". Throws what
  // ModuleRules::find() throws of patterns that take too long.
  const Scheme* scheme_of(std::string_view module) const;
  // As scheme_of(), for a table of embeddings, which some configs name apart from linear modules.
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
  // As rules_, for modules that it has: stored with 2:4 sparsity.
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

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_QUANTIZATION_H_
