#include "generator/model/config_documents.h"

#include "generator/model/dtype.h"
#include "generator/model/family_table.h"
#include "generator/model/read_quantization.h"
#include "generator/spec/error_place.h"
#include "generator/target/check_target.h"

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

// `name` is the usual one of the file, which stands beside the config.
std::optional<Node> read_object_beside(std::string_view name, std::string_view text,
                                       Findings& findings) {
  if (text.empty()) return std::nullopt;
  try {
    return read_object(text, findings);
  } catch (const Error& error) {
    throw at_place(name, error);
  }
}

}  // namespace

ConfigDocuments::ConfigDocuments(const ModelConfigTexts& texts, Findings& findings)
    : findings_(findings),
      texts_(texts),
      config_(read_object(texts.config, findings)),
      hf_quant_config_(read_object_beside("hf_quant_config.json", texts.hf_quant_config, findings)),
      quantize_config_(
          read_object_beside("quantize_config.json", texts.quantize_config, findings)) {
  check_arch(texts.arch);
}

ConfigReader ConfigDocuments::language() const {
  ConfigReader root = config();
  const Node* outer = &*config_;
  std::string pointer;
  // Models that also speak have the one that thinks in a member.
  const Node* const thinker = outer->find("thinker_config");
  if (thinker != nullptr && thinker->kind == Node::Kind::kObject) {
    outer = thinker;
    pointer = root.pointer("thinker_config");
  }
  for (const std::string_view key : {"text_config", "llm_config", "language_config"}) {
    const Node* node = outer->find(key);
    if (node == nullptr || node->kind != Node::Kind::kObject) continue;
    const bool is_whole = outer->find("hidden_size") != nullptr;
    if (node->find("hidden_size") != nullptr ||
        (node->find("model_type") != nullptr && !is_whole)) {
      return {*node, child_pointer(pointer, key), findings_};
    }
  }
  return {*outer, pointer, findings_};
}

bool ConfigDocuments::is_wrapped() const { return language().pointer("") != config().pointer(""); }

std::string ConfigDocuments::model_type() const {
  const std::string own = language().string_or("model_type", "");
  std::string whole = config().string_or("model_type", "");
  if (!is_wrapped()) return whole;
  const Wrapper* const wrapper = find_wrapper(whole);
  if (own.empty() && wrapper != nullptr && !wrapper->language.empty()) {
    return std::string(wrapper->language);
  }
  return own.empty() ? whole : own;
}

std::optional<DType> ConfigDocuments::dtype() const {
  const std::optional<DType> own = read_dtype(language());
  return own ? own : read_dtype(config());
}

bool ConfigDocuments::mentions(const std::string& path) const {
  for (const std::string_view text :
       {texts_.config, texts_.hf_quant_config, texts_.quantize_config}) {
    if (text.find('"' + path) != text.npos || text.find(':' + path) != text.npos) return true;
  }
  return false;
}

Quantization ConfigDocuments::quantization() const {
  const auto pointer = [](const std::optional<Node>& node) { return node ? &*node : nullptr; };
  return read_quantization({pointer(config_), pointer(hf_quant_config_), pointer(quantize_config_),
                            texts_.engine_rotates, texts_.activation_bits, texts_.arch},
                           findings_);
}

}  // namespace heddle
