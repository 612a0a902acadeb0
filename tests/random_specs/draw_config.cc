#include "tests/random_specs/draw_config.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "heddle/target.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kQuantization = "quantization_config";

std::vector<fs::path> seed_files() {
  std::vector<fs::path> files;
  for (const char* folder : {HEDDLE_MODEL_CONFIGS, HEDDLE_EXAMPLE_MODELS}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());  // so that a seed draws the same everywhere
  return files;
}

// Places of all values, the document's own left out.
void add_places(const Json& value, const Json::json_pointer& place,
                std::vector<Json::json_pointer>* places) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      const Json::json_pointer inner = place / name;
      places->push_back(inner);
      add_places(member, inner, places);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Json::json_pointer inner = place / i;
      places->push_back(inner);
      add_places(value[i], inner, places);
    }
  }
}

void add_names(const Json& value, std::set<std::string>* names) {
  for (const auto& [name, member] : value.items()) {
    if (value.is_object()) names->insert(name);
    if (member.is_structured()) add_names(member, names);
  }
}

// Cuts the text there, or before the character there: a case is printed as JSON, which has whole
// characters alone.
void cut(std::size_t size, std::string* text) {
  const auto is_inside = [&] { return (static_cast<unsigned char>((*text)[size]) & 0xc0) == 0x80; };
  while (size > 0 && is_inside()) --size;
  text->resize(size);
}

}  // namespace

ModelConfigTexts ConfigCase::texts() const {
  ModelConfigTexts texts;
  texts.config = config;
  texts.hf_quant_config = hf_quant_config;
  texts.quantize_config = quantize_config;
  texts.plain_too = plain_too;
  texts.engine_rotates = engine_rotates;
  texts.gated = gated;
  texts.dense = dense;
  texts.lm_head_bits = lm_head_bits;
  texts.activation_bits = activation_bits;
  if (!target.empty()) texts.arch = target_from_name(target).arch();
  return texts;
}

std::string line_of(const ConfigCase& config) {
  const Json line = {{"config", config.config},
                     {"hf_quant_config", config.hf_quant_config},
                     {"quantize_config", config.quantize_config},
                     {"kv", config.kv},
                     {"plain_too", config.plain_too},
                     {"engine_rotates", config.engine_rotates},
                     {"gated", config.gated},
                     {"dense", config.dense},
                     {"lm_head_bits", config.lm_head_bits},
                     {"activation_bits", config.activation_bits},
                     {"target", config.target}};
  return line.dump();
}

ConfigCase config_case_of(const std::string& line) {
  const Json values = Json::parse(line);
  return {values.at("config"),          values.at("hf_quant_config"),
          values.at("quantize_config"), values.at("kv"),
          values.at("plain_too"),       values.at("engine_rotates"),
          values.at("gated"),           values.at("dense"),
          values.at("lm_head_bits"),    values.at("activation_bits"),
          values.at("target")};
}

RandomConfig::RandomConfig(Random& random) : random_(random) {
  std::set<std::string> names;
  for (const fs::path& path : seed_files()) {
    std::ifstream file(path);
    Json config = Json::parse(file, nullptr, false);
    if (!config.is_object() || !config.contains("model_type")) continue;
    add_names(config, &names);
    if (config.contains(kQuantization)) quantizations_.push_back(config[kQuantization]);
    seeds_.push_back(std::move(config));
  }
  names_.assign(names.begin(), names.end());
  for (const Target& target : known_targets()) targets_.push_back(target.name);
}

ConfigCase RandomConfig::draw() {
  Json config = any_seed();
  if (!config.contains(kQuantization) || one_in(random_, 3)) {
    config[kQuantization] = quantizations_[below(random_, quantizations_.size())];
  }
  for (std::size_t left = below(random_, 5); left > 0; --left) change(config);
  ConfigCase drawn;
  const auto flag = [&] { return one_in(random_, 4); };
  drawn.plain_too = flag();
  drawn.engine_rotates = flag();
  drawn.gated = flag();
  drawn.dense = flag();
  drawn.lm_head_bits = flag() ? (flag() ? 4 : 8) : 0;
  drawn.activation_bits = flag() ? 16 : 0;
  if (!flag()) drawn.target = targets_[below(random_, targets_.size())];
  constexpr const char* kCaches[] = {"{}", R"({"dtype":"int8","granularity":"head"})",
                                     R"({"dtype":"int4","granularity":"group","group_size":32})",
                                     R"({"dtype":"fp8_e4m3","granularity":"tensor"})"};
  drawn.kv = kCaches[below(random_, std::size(kCaches))];
  // Where some quantisers write it.
  if (one_in(random_, 6) && config.is_object() && config.contains(kQuantization)) {
    Json moved = config[kQuantization];
    if (one_in(random_, 2)) change(moved);
    if (one_in(random_, 2)) config.erase(kQuantization);
    (one_in(random_, 2) ? drawn.hf_quant_config : drawn.quantize_config) = moved.dump();
  }
  drawn.config = config.dump();
  if (one_in(random_, 50)) cut(below(random_, drawn.config.size()), &drawn.config);
  return drawn;
}

void RandomConfig::change(Json& config) {
  std::vector<Place> places;
  add_places(config, Place(), &places);
  if (places.empty()) {
    config = other_value();
    return;
  }
  const Place place = places[below(random_, places.size())];
  Json& parent = config[place.parent_pointer()];
  const std::string name = place.back();
  switch (below(random_, 8)) {
    case 0:
      if (parent.is_object()) parent.erase(name);
      break;
    case 1:
      if (parent.is_object()) {
        Json moved = config[place];
        parent.erase(name);
        parent[field_name()] = std::move(moved);
      }
      break;
    case 2: {
      const Json first = config[place];
      const Place other = places[below(random_, places.size())];
      const Json second = config[other];
      config[place] = second;
      if (config.contains(other)) config[other] = first;
      break;
    }
    case 3: {
      const Json inner = config[place];
      config[place] = one_in(random_, 2) ? Json::array({inner}) : Json({{field_name(), inner}});
      break;
    }
    case 4: {
      // A field of another family, or all that it says of one.
      const Json& other = any_seed();
      std::vector<Place> there;
      add_places(other, Place(), &there);
      const Place from = there[below(random_, there.size())];
      if (from.parent_pointer().empty() && config.is_object()) {
        config[from.back()] = other[from];
      } else {
        config[place] = other[from];
      }
      break;
    }
    default:
      change_value(config, place);
  }
}

void RandomConfig::change_value(Json& config, const Place& place) {
  Json& value = config[place];
  if (value.is_number() && !one_in(random_, 4)) {
    value = number_near(value);
  } else if (value.is_array() && !value.empty() && value.size() < 4096 && one_in(random_, 2)) {
    const Json item = value[below(random_, value.size())];
    for (std::size_t left = one_in(random_, 2) ? 1 : 1000; left > 0; --left) value.push_back(item);
  } else if (value.is_string() && one_in(random_, 2)) {
    value = text();
  } else {
    value = other_value();
  }
}

Json RandomConfig::number_near(const Json& value) {
  if (one_in(random_, 2)) {
    constexpr double kExtremes[] = {
        0, -1, 1, 2, 3, 7, 0.5, 1e-320, 1e308, -1e308, 9007199254740993.0};
    constexpr std::int64_t kWhole[] = {0,
                                       1,
                                       -1,
                                       1 << 20,
                                       2147483647,
                                       2147483648,
                                       4096,
                                       std::numeric_limits<std::int64_t>::max(),
                                       std::numeric_limits<std::int64_t>::min()};
    if (one_in(random_, 3)) return kExtremes[below(random_, std::size(kExtremes))];
    return kWhole[below(random_, std::size(kWhole))];
  }
  if (!value.is_number_integer()) return value.get<double>() * (one_in(random_, 2) ? 2 : -0.5);
  const auto now = value.get<std::int64_t>();
  const std::int64_t half = now / 2;
  const std::int64_t near[] = {
      half,     half + 1,      now - (now > 0 ? 1 : 0), now + (now < 4096 ? 1 : 0),
      half / 3, now % 4096 * 3};
  return near[below(random_, std::size(near))];
}

Json RandomConfig::other_value() {
  switch (below(random_, 8)) {
    case 0:
      return nullptr;
    case 1:
      return one_in(random_, 2);
    case 2:
      return number_near(4096);
    case 3:
      return Json::array();
    case 4:
      return Json::object();
    case 5: {
      Json deep = 1;
      for (std::size_t left = below(random_, 80); left > 0; --left) deep = Json::array({deep});
      return deep;
    }
    default:
      return text();
  }
}

std::string RandomConfig::text() {
  static const std::string texts[] = {
      "",
      "0",
      "int4",
      "awq",
      "gptq",
      "fp8",
      "compressed-tensors",
      "modelopt",
      "float-quantized",
      "pack-quantized",
      "re:",
      "re:.*",
      "re:(",
      "re:(?!.*experts).*mlp.*",
      "re:((.?){100}){20}x",
      "re:(.*)*(.*)*(.*)*(.*)*(.*)*x",
      "*[!a-",
      "**********************b",
      "model.layers.*",
      "../../etc/passwd",
      "a/b~c\"d\\e",
      "\x1b[31m\n\t\x01",
      "%s%n{}{0}",
      "\xe2\x82\xac\xf0\x9f\x98\x80",
      std::string(5000, 'x'),
      std::string("nul\0here", 8),
  };
  if (one_in(random_, 3)) return field_name();
  return texts[below(random_, std::size(texts))];
}

std::string RandomConfig::field_name() { return names_[below(random_, names_.size())]; }

}  // namespace heddle
