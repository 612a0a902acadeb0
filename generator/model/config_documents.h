// ConfigDocuments: the parsed texts of a model's configs.
#ifndef HEDDLE_GENERATOR_MODEL_CONFIG_DOCUMENTS_H_
#define HEDDLE_GENERATOR_MODEL_CONFIG_DOCUMENTS_H_

#include <optional>
#include <string>

#include "generator/model/config_reader.h"
#include "generator/model/quantization.h"
#include "heddle/model.h"

namespace heddle {

// The members point into each other: not for copying.
class ConfigDocuments {
 public:
  // Throws Error(kSpec) for a text that is no JSON object. `texts` and `findings` outlive
  // the documents.
  ConfigDocuments(const ModelConfigTexts& texts, Findings& findings);
  ConfigDocuments(const ConfigDocuments&) = delete;
  ConfigDocuments& operator=(const ConfigDocuments&) = delete;

  ConfigReader config() const { return {*config_, "", findings_}; }
  // The language model's config: "text_config" in a multimodal config ("thinker_config"'s, if there
  // is one), else config().
  ConfigReader language() const;
  // Whether language() is a member of config().
  bool is_wrapped() const;
  // The language model's "model_type", else what the wrapper usually has, else that of the whole;
  // empty where there is none.
  std::string model_type() const;
  // The type of the activations: the language model's, else that of the whole config; as
  // read_dtype().
  std::optional<DType> dtype() const;
  // Whether a text of the configs has `path`, the start of a module's name.
  bool mentions(const std::string& path) const;
  // What read_quantization() makes of these configs.
  Quantization quantization() const;

 private:
  Findings& findings_;
  ModelConfigTexts texts_;
  std::optional<Node> config_;
  std::optional<Node> hf_quant_config_;
  std::optional<Node> quantize_config_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CONFIG_DOCUMENTS_H_
