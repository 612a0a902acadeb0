// QuantizationBuilder: what the readers of the quantisation methods fill in.
#ifndef HEDDLE_GENERATOR_MODEL_QUANTIZATION_BUILDER_H_
#define HEDDLE_GENERATOR_MODEL_QUANTIZATION_BUILDER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/model/quantization.h"
#include "generator/model/words.h"

namespace heddle {

class QuantizationBuilder {
 public:
  static constexpr int kNotQuantized = ModuleRules::kNone;

  // `expert_dtype` is the config's field of that name: experts have weights of a type of their own.
  // What the user wants in `sources` counts here.
  explicit QuantizationBuilder(std::string method, const QuantizationSources& sources = {},
                               std::string expert_dtype = {})
      : engine_rotates_(sources.engine_rotates),
        activation_bits_(sources.activation_bits),
        arch_(sources.arch),
        expert_dtype_(std::move(expert_dtype)) {
    result_.method_ = std::move(method);
  }

  // The index of the scheme, for the rules. Equal schemes have one index. Activations that no
  // kernel takes in eight bits are taken off it, with a note.
  int scheme(Scheme scheme);
  // Whether kernels take the activations of the scheme with this index in eight bits.
  bool has_byte_activations(int scheme) const {
    return result_.schemes_[static_cast<std::size_t>(scheme)].activation.has_value();
  }
  // Which modules have which scheme; and which of them are stored with 2:4 sparsity.
  ModuleRules& rules() { return result_.rules_; }
  ModuleRules& sparsity() { return result_.sparsity_; }
  // Those of tables of embeddings, where the config names them apart from linear modules.
  ModuleRules& tables() {
    result_.names_tables_ = true;
    return result_.tables_;
  }
  // The pointer of the object that is read.
  void set_pointer(std::string pointer) { result_.pointer_ = std::move(pointer); }
  // Every module that no rule before names.
  void otherwise(int scheme);
  void note(std::string text) { result_.notes_.push_back(std::move(text)); }
  void set_cache(CacheScheme scheme) { result_.cache_ = std::move(scheme); }
  // The model rotates activations at run time, as the field `key` says in `what`: a note where the
  // engine does it, else refused. Throws Error(kUnsupported, "model.quantization").
  void rotates(const ConfigReader& config, std::string_view key, const std::string& what);

  const std::string& expert_dtype() const noexcept { return expert_dtype_; }

  Quantization take();

 private:
  Quantization result_;
  std::multimap<std::pair<int, std::optional<int>>, int> by_numbers_;  // bits, group: schemes
  void settle_activations(Scheme& scheme);
  void note_once(std::string text);

  bool engine_rotates_;
  int activation_bits_;
  int arch_;
  std::string expert_dtype_;
};

// Throws Error(kUnsupported, "model.quantization") that names the field `key` for a regular
// expression that cannot be read.
void add_rule(const ConfigReader& config, std::string_view key, ModulePattern::Kind kind,
              const std::string& text, int scheme, ModuleRules& rules);
// lm_head, wherever it is in the model.
void leave_out_head(QuantizationBuilder& builder);

// Throws Error(kUnsupported, "model.quantization").
[[noreturn]] void refuse_quantization(const ConfigReader& config, std::string_view key,
                                      std::string message, std::string value, std::string allowed);

// Rules for the strings of the array `key`: such modules are not quantised. A string is a part of a
// module's name...
void exclude_substrings(const ConfigReader& config, std::string_view key,
                        QuantizationBuilder& builder);
// ... or a shell pattern for it, for all that is inside of such a module, too; without wildcards it
// is some whole components of it. "re:" and a regular expression are that.
void exclude_modules(const ConfigReader& config, std::string_view key,
                     QuantizationBuilder& builder);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_QUANTIZATION_BUILDER_H_
