// Configs of models at random: those of tests/models and examples/models with some changes.
#ifndef HEDDLE_TESTS_RANDOM_SPECS_DRAW_CONFIG_H_
#define HEDDLE_TESTS_RANDOM_SPECS_DRAW_CONFIG_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/model.h"
#include "tests/random_specs/draw.h"

namespace heddle {

using Json = nlohmann::ordered_json;

// Texts and what is asked of them.
struct ConfigCase {
  std::string config;
  std::string hf_quant_config;
  std::string quantize_config;
  std::string kv;  // of cache_model_from_config()
  bool plain_too = false;
  bool engine_rotates = false;
  bool gated = false;
  bool dense = false;
  int lm_head_bits = 0;
  int activation_bits = 0;
  std::string target;  // a known one's name

  ModelConfigTexts texts() const;
};

// One line of JSON, and the case that is written there. config_case_of() throws what nlohmann::json
// throws.
std::string line_of(const ConfigCase& config);
ConfigCase config_case_of(const std::string& line);

// Changes what it starts from in one place or a few: fields that are gone, have other names, types,
// places or values, or are those of another config.
class RandomConfig {
 public:
  explicit RandomConfig(Random& random);

  ConfigCase draw();

 private:
  using Place = Json::json_pointer;

  void change(Json& config);
  void change_value(Json& config, const Place& place);
  Json other_value();
  Json number_near(const Json& value);
  std::string text();
  std::string field_name();
  const Json& any_seed() const { return seeds_[below(random_, seeds_.size())]; }

  Random& random_;
  std::vector<Json> seeds_;
  std::vector<std::string> names_;   // of fields of all of them
  std::vector<Json> quantizations_;  // their quantization_config
  std::vector<std::string> targets_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_RANDOM_SPECS_DRAW_CONFIG_H_
