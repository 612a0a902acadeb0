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
  // Throws Error(kSpec) for a text that is no JSON object. `findings` outlives the documents.
  ConfigDocuments(const ModelConfigTexts& texts, Findings& findings);
  ConfigDocuments(const ConfigDocuments&) = delete;
  ConfigDocuments& operator=(const ConfigDocuments&) = delete;

  ConfigReader config() const { return {*config_, "", findings_}; }
  // Of the language model: that of "text_config" in a multimodal one, else config().
  ConfigReader language() const;
  // The language model's "model_type", else that of the whole; empty where neither has one.
  std::string model_type() const;
  // As read_quantization().
  Quantization quantization() const;

 private:
  Findings& findings_;
  bool engine_rotates_;
  std::optional<Node> config_;
  std::optional<Node> hf_quant_config_;
  std::optional<Node> quantize_config_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_CONFIG_DOCUMENTS_H_
