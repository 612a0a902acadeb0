#include "generator/model/rope.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  values.add("out_of_range", {values.value(expression).field, "no rotation has this base", "",
                              "1 to " + std::to_string(kLargestBase), ""});
  return 1;
}

std::vector<std::pair<std::string, double>> parameters_in(const Node& node) {
  std::vector<std::pair<std::string, double>> parameters;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Node& item = node.items[i];
    const auto& names = kParameterNames;
    if (std::find(std::begin(names), std::end(names), node.keys[i]) == std::end(names)) continue;
    if (item.kind == Node::Kind::kInteger) {
      parameters.emplace_back(node.keys[i], static_cast<double>(item.integer));
    } else if (item.kind == Node::Kind::kNumber) {
      parameters.emplace_back(node.keys[i], item.number);
    } else if (item.kind == Node::Kind::kBool) {
      parameters.emplace_back(node.keys[i], item.boolean ? 1 : 0);
    }
  }
  return parameters;
}

// What rope_scaling or rope_parameters says of rotations.
struct SaidOfRotations {
  double base = 0;
  double part = 0;
  bool scales = false;  // it says how; else `scaling` and `parameters` are empty
  std::string scaling;
  std::vector<std::pair<std::string, double>> parameters;
  bool operator==(const SaidOfRotations&) const = default;
};

// `said` with what the object says. A type is not always in rope_scaling, but always meant there.
SaidOfRotations said_in(const RopeRow& row, const Node& node, const ConfigReader& object,
                        bool scales, SaidOfRotations said) {
  if (row.base.empty()) read_base(object, &said.base);
  read_part(object, &said.part);
  said.scales =
      scales || object.has("rope_type") || object.has("type") || object.has("mrope_section");
  if (!said.scales) return said;
  said.scaling = scaling_in(object);
  if (!said.scaling.empty()) said.parameters = parameters_in(node);
  return said;
}

// Transformers 4 reads rope_scaling and the fields beside it, Transformers 5 that of both objects
// which it finds first: where they differ nobody knows which the model was made with.
SaidOfRotations said_of_rotations(const RopeRow& row, const ConfigReader& config, double part) {
  SaidOfRotations said;
  said.part = part;
  read_part(config, &said.part);
  if (row.base.empty()) read_base(config, &said.base);
  const Node* const older = config.object("rope_scaling");
  const Node* const newer = config.object("rope_parameters");
  const bool has_older = older != nullptr && !older->items.empty();
  SaidOfRotations by_older =
      !has_older ? said
                 : said_in(row, *older,
                           ConfigReader(*older, config.pointer("rope_scaling"), config.findings()),
                           true, said);
  if (newer == nullptr) return by_older;
  const ConfigReader outer(*newer, config.pointer("rope_parameters"), config.findings());
  const Node* const own = row.kind.empty() ? nullptr : outer.object(row.kind);
  const Node& node = own == nullptr ? *newer : *own;
  const std::string place =
      own == nullptr ? config.pointer("rope_parameters") : outer.pointer(row.kind);
  SaidOfRotations by_newer =
      said_in(row, node, ConfigReader(node, place, config.findings()), false, said);
  if (has_older && by_newer != by_older) {
    config.add("contradiction", "rope_scaling",
               "rope_parameters says otherwise how positions turn queries and keys, and readers of "
               "configs differ in which of both they take",
               "one of both");
  }
  return by_newer;
}

}  // namespace

std::span<const std::string_view> rope_parameter_names() { return kParameterNames; }

ModelRope rope_of(const RopeRow& row, std::int64_t head_dim, ConfigValues& values) {
  ModelRope rope;
  if (!values.flag(row.when)) return rope;
  rope.pairing = values.flag(row.neox_when) ? RopePairing::kNeox : row.pairing;
  const ConfigReader& config = values.config();
  const SaidOfRotations said = said_of_rotations(row, config, values.number(row.part));
  rope.base = said.base;
  rope.scaling = said.scaling;
  rope.parameters = said.parameters;
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
    rope.dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * said.part);
    if (rope.dim == 0) {
      config.add("out_of_range", "partial_rotary_factor",
                 "of " + std::to_string(head_dim) + " elements of a head none is turned",
                 "16 elements or more");
    }
  }
  return rope;
}

}  // namespace heddle
