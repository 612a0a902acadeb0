#include "generator/model/config_documents.h"

namespace heddle {
namespace {

// The config of a model with 22,000 experts that are quantised one by one has 3 MB.
constexpr DocumentLimits kLimits{
    .bytes = std::size_t{16} << 20, .depth = 64, .python_constants = true};

std::optional<Node> read_object(std::string_view text, Findings& findings) {
  std::optional<Node> root = read_document(text, kLimits, findings);
  if (root && root->kind != Node::Kind::kObject) {
    findings.add("wrong_type", {"", "the document must be an object", excerpt(*root), "", ""});
  }
  findings.throw_if_any();
  return root;
}

}  // namespace

ConfigDocuments::ConfigDocuments(const ModelConfigTexts& texts, Findings& findings)
    : findings_(findings),
      engine_rotates_(texts.engine_rotates),
      config_(read_object(texts.config, findings)) {
  if (!texts.hf_quant_config.empty())
    hf_quant_config_ = read_object(texts.hf_quant_config, findings);
  if (!texts.quantize_config.empty())
    quantize_config_ = read_object(texts.quantize_config, findings);
}

ConfigReader ConfigDocuments::language() const {
  ConfigReader root = config();
  for (const std::string_view key : {"text_config", "llm_config", "language_config"}) {
    const Node* node = config_->find(key);
    if (node != nullptr && node->kind == Node::Kind::kObject &&
        node->find("hidden_size") != nullptr) {
      return {*node, root.pointer(key), findings_};
    }
  }
  return root;
}

std::string ConfigDocuments::model_type() const {
  const std::string own = language().string_or("model_type", "");
  return own.empty() ? config().string_or("model_type", "") : own;
}

Quantization ConfigDocuments::quantization() const {
  const auto pointer = [](const std::optional<Node>& node) { return node ? &*node : nullptr; };
  return read_quantization(
      {pointer(config_), pointer(hf_quant_config_), pointer(quantize_config_), engine_rotates_},
      findings_);
}

}  // namespace heddle
