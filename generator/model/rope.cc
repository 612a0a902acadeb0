#include "generator/model/rope.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace heddle {
namespace {

constexpr std::string_view kParameterNames[] = {
    "rope_type",        "type",
    "factor",           "original_max_position_embeddings",
    "attention_factor", "beta_fast",
    "beta_slow",        "mscale",
    "mscale_all_dim",   "truncate",
    "low_freq_factor",  "high_freq_factor",
    "short_factor",     "long_factor",
    "short_mscale",     "long_mscale",
    "mrope_section",    "mrope_interleaved"};

constexpr std::int64_t kLargestBase = std::int64_t{1} << 40;  // as in a spec

// partial_rotary_factor: the part of each head that is turned, its first elements. Models whose
// rotation takes a part at all give one in (0, 1]; a 0 would turn nothing in some of them and fail
// in others, and in a spec it stands for the whole head: it is refused.
void read_part(const ConfigReader& config, double* part) {
  constexpr std::string_view kPartialFactorKey = "partial_rotary_factor";
  if (!config.has(kPartialFactorKey)) return;
  const double value = config.number_or(kPartialFactorKey, *part);
  if (value > 0 && value <= 1) {
    *part = value;
    return;
  }
  config.add("out_of_range", kPartialFactorKey,
             "the part of a head that is turned is none of it or beyond it",
             "more than 0, up to 1");
}

// The base of the frequencies.
void read_base(const ConfigReader& config, double* base) {
  constexpr std::string_view kThetaKey = "rope_theta";
  const Node* const node = config.node(kThetaKey);
  // One for each layer is left to the row, which names the field.
  if (node == nullptr || node->kind == Node::Kind::kArray) return;
  constexpr double kUsualTheta = 10000;  // for a field of another type, which is a finding
  const double value = config.number_or(kThetaKey, kUsualTheta);
  if (value >= 1 && value <= static_cast<double>(kLargestBase)) {
    *base = value;
    return;
  }
  config.add("out_of_range", kThetaKey, "no rotation has this base",
             "1 to " + std::to_string(kLargestBase));
}

// "llama3", "yarn" ...; empty where a position is one number that is not scaled. Models of images
// have positions of three parts, "mrope".
std::string scaling_in(const ConfigReader& config) {
  const std::string type = config.string_or(config.spelling({"rope_type", "type"}), "scaled");
  if (config.has("mrope_section")) return "mrope";
  return type == "default" ? std::string() : type;
}

// As read_base(), of a row's expression.
double checked_base(Expression expression, ConfigValues& values) {
  const double base = values.number(expression);
  if (base >= 1 && base <= static_cast<double>(kLargestBase)) return base;
  values.add("out_of_range", {values.value(expression).pointer, "no rotation has this base", "",
                              "1 to " + std::to_string(kLargestBase), ""});
  return 1;
}

void read_parameters(const Node& node, ModelRope* rope) {
  rope->parameters.clear();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Node& item = node.items[i];
    const auto& names = kParameterNames;
    if (std::find(std::begin(names), std::end(names), node.keys[i]) == std::end(names)) continue;
    if (item.kind == Node::Kind::kInteger) {
      rope->parameters.emplace_back(node.keys[i], static_cast<double>(item.integer));
    } else if (item.kind == Node::Kind::kNumber) {
      rope->parameters.emplace_back(node.keys[i], item.number);
    } else if (item.kind == Node::Kind::kBool) {
      rope->parameters.emplace_back(node.keys[i], item.boolean ? 1 : 0);
    }
  }
}

}  // namespace

std::span<const std::string_view> rope_parameter_names() { return kParameterNames; }

ModelRope rope_of(const RopeRow& row, std::int64_t head_dim, ConfigValues& values) {
  ModelRope rope;
  if (!values.flag(row.when)) return rope;
  rope.pairing = values.flag(row.neox_when) ? RopePairing::kNeox : row.pairing;
  const ConfigReader& config = values.config();
  double part = values.number(row.part);
  read_part(config, &part);
  if (row.base.empty()) read_base(config, &rope.base);
  if (config.object("rope_scaling") != nullptr) {
    const ConfigReader scaling(*config.object("rope_scaling"), config.pointer("rope_scaling"),
                               config.findings());
    rope.scaling = scaling_in(scaling);
    read_parameters(*config.object("rope_scaling"), &rope);
  }
  if (const Node* const parameters = config.object("rope_parameters")) {
    const ConfigReader outer(*parameters, config.pointer("rope_parameters"), config.findings());
    const Node* const own = row.kind.empty() ? nullptr : outer.object(row.kind);
    const ConfigReader inner(
        own == nullptr ? *parameters : *own,
        own == nullptr ? config.pointer("rope_parameters") : outer.pointer(row.kind),
        config.findings());
    read_part(inner, &part);
    if (row.base.empty()) read_base(inner, &rope.base);
    if (inner.has("rope_type") || inner.has("type") || inner.has("mrope_section")) {
      rope.scaling = scaling_in(inner);
      read_parameters(own == nullptr ? *parameters : *own, &rope);
    }
  }
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  if (config.has(kOriginal)) {  // before that of the scaling
    std::erase_if(rope.parameters, [&](const auto& one) { return one.first == kOriginal; });
    rope.parameters.emplace_back(kOriginal, config.number_or(kOriginal, 0));
  }
  if (!row.base.empty()) rope.base = checked_base(row.base, values);
  if (rope.base == 0) {
    const ConfigValue usual = values.value(row.class_default_base);
    rope.base = usual.number;
    if (!config.has("rope_theta")) {
      values.assume("the base of rotations is " + plain(usual.number) +
                    ", since the config has no rope_theta");
    }
  }
  if (!row.scaling.empty()) rope.scaling = values.text(row.scaling);
  if (rope.scaling == "default") rope.scaling.clear();
  if (rope.scaling.empty()) rope.parameters.clear();
  if (rope.scaling == "proportional") {
    rope.dim = head_dim;  // pairs are of whole heads; those beyond the part have a frequency of 0
  } else if (!row.dim.empty()) {
    rope.dim = values.size(row.dim, head_dim);
  } else {
    rope.dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * part);
    if (rope.dim == 0) {
      config.add("out_of_range", "partial_rotary_factor",
                 "of " + std::to_string(head_dim) + " elements of a head none is turned",
                 "16 elements or more");
    }
  }
  return rope;
}

}  // namespace heddle
