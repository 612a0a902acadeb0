#include "generator/model/quantization_builder.h"

#include <algorithm>
#include <utility>

#include "generator/model/byte_activations.h"
#include "heddle/error.h"

namespace heddle {
Quantization Quantization::uniform(std::string method, const Scheme& scheme) {
  QuantizationBuilder builder(std::move(method));
  builder.otherwise(builder.scheme(scheme));
  return builder.take();
}

int QuantizationBuilder::scheme(Scheme scheme) {
  if (scheme.activation) settle_activations(scheme);
  std::vector<Scheme>& schemes = result_.schemes_;
  // A config may give each of many modules one of its own.
  const std::pair numbers(scheme.bits, scheme.group_size);
  const auto [first, last] = by_numbers_.equal_range(numbers);
  const auto known = std::find_if(first, last, [&](const auto& each) {
    return schemes[static_cast<std::size_t>(each.second)] == scheme;
  });
  if (known != last) return known->second;
  const auto index = static_cast<int>(schemes.size());
  by_numbers_.emplace(numbers, index);
  schemes.push_back(std::move(scheme));
  return index;
}

void QuantizationBuilder::otherwise(int scheme) {
  rules().add(*ModulePattern::make(ModulePattern::Kind::kEvery, ""), scheme);
}

void QuantizationBuilder::note_once(std::string text) {
  const std::vector<std::string>& notes = result_.notes_;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) note(std::move(text));
}

void QuantizationBuilder::settle_activations(Scheme& scheme) {
  if (activation_bits_ != 0) {
    scheme.activation.reset();
    return note_once(std::string(kSixteenBitsNote) + ", and need no scales for them");
  }
  const std::string why = why_sixteen_bits(scheme, arch_);
  if (why.empty()) {
    return note_once("activations have 8 bits (" + activations_text(*scheme.activation) +
                     "), which kernels of " + architectures_with_bytes(scheme) +
                     " take; --activations 16 (activation_bits) is for other GPUs");
  }
  scheme.activation.reset();
  note_once(std::string(kSixteenBitsNote) + ", because " + why);
}

void QuantizationBuilder::rotates(const ConfigReader& config, std::string_view key,
                                  const std::string& what) {
  if (engine_rotates_) {
    result_.rotates_ = true;
    return note("the engine has to rotate activations: " + what);
  }
  refuse_quantization(config, key,
                      "the model rotates activations at run time (" + what +
                          "), for which Heddle has no operation: without it results are wrong",
                      "",
                      "a checkpoint whose rotations are all part of its weights, or "
                      "--engine-rotates for an engine that does it");
}

Quantization QuantizationBuilder::take() {
  result_.rules_.finish();
  result_.sparsity_.finish();
  result_.tables_.finish();
  return std::move(result_);
}

void add_rule(const ConfigReader& config, std::string_view key, ModulePattern::Kind kind,
              const std::string& text, int scheme, ModuleRules& rules) {
  std::optional<ModulePattern> pattern = ModulePattern::make(kind, text);
  if (!pattern) {
    refuse_quantization(
        config, key, "this regular expression cannot be read", quoted_excerpt(text),
        "one of at most 1024 ASCII characters and 10000 states without flags, named groups, "
        "references back, look-behinds, nested look-aheads and counts over 255");
  }
  rules.add(*std::move(pattern), scheme, config.pointer(key));
}

void leave_out_head(QuantizationBuilder& builder) {
  builder.rules().add(*ModulePattern::make(ModulePattern::Kind::kComponents, "lm_head"),
                      QuantizationBuilder::kNotQuantized);
}

void refuse_quantization(const ConfigReader& config, std::string_view key, std::string message,
                         std::string value, std::string allowed) {
  throw Error(ErrorCategory::kUnsupported, "model.quantization",
              std::vector<Problem>{{config.pointer(key), std::move(message), std::move(value),
                                    std::move(allowed), ""}});
}

void exclude_substrings(const ConfigReader& config, std::string_view key,
                        QuantizationBuilder& builder) {
  for (const std::string& text : config.strings(key)) {
    if (text.empty()) continue;
    add_rule(config, key, ModulePattern::Kind::kSubstring, text, QuantizationBuilder::kNotQuantized,
             builder.rules());
  }
}

void exclude_modules(const ConfigReader& config, std::string_view key,
                     QuantizationBuilder& builder) {
  constexpr std::string_view kRegex = "re:";
  const auto add = [&](ModulePattern::Kind kind, const std::string& text) {
    add_rule(config, key, kind, text, QuantizationBuilder::kNotQuantized, builder.rules());
  };
  for (const std::string& text : config.strings(key)) {
    if (text.empty()) continue;
    if (text.starts_with(kRegex)) {
      add(ModulePattern::Kind::kRegexStart, text.substr(kRegex.size()));
    } else if (text.find_first_of("*?[") != text.npos) {
      add(ModulePattern::Kind::kGlob, text);
      add(ModulePattern::Kind::kGlob, text + ".*");
    } else {
      add(ModulePattern::Kind::kComponents, text);
    }
  }
}

}  // namespace heddle
