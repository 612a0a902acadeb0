// Configs to start from, and the error of a bad one.
#ifndef HEDDLE_TESTS_GENERATOR_MODEL_MODEL_HELPERS_H_
#define HEDDLE_TESTS_GENERATOR_MODEL_MODEL_HELPERS_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "heddle/error.h"
#include "heddle/model.h"

namespace heddle {

using Json = nlohmann::json;

inline std::string example(const std::string& name) {
  std::ifstream file(std::filesystem::path(HEDDLE_EXAMPLE_MODELS) / name / "config.json");
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline Json llama() { return Json::parse(example("llama-3-8b-awq")); }

inline Error config_error(const std::string& json) {
  try {
    model_from_config(json);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "accepted: " << json.substr(0, 500);
  return Error(ErrorCategory::kInternal, "none", "");
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_MODEL_MODEL_HELPERS_H_
