// Tables for the tests of this folder and of the planner.
#ifndef HEDDLE_TESTS_GENERATOR_TUNED_TABLES_H_
#define HEDDLE_TESTS_GENERATOR_TUNED_TABLES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "generator/families/registry.h"
#include "heddle/error.h"
#include "heddle/tuned.h"

namespace heddle {

// W4 with groups of 128, FP16, N = K = 4096.
inline TunedEntry entry_for(std::int64_t m_first, std::int64_t m_last, std::string kernel = "any") {
  TunedEntry entry;
  entry.n = 4096;
  entry.k = 4096;
  entry.m_first = m_first;
  entry.m_last = m_last;
  entry.family = "stream";
  entry.kernel = std::move(kernel);
  entry.us = 5.5;
  return entry;
}

// As above, as text, with the first `from` replaced by `to`.
inline std::string entry_json(std::string_view from = "", std::string_view to = "") {
  std::string text =
      R"({"weight":{"bits":4},"activation":{"dtype":"fp16"},"n":4096,"k":4096,"m":[1,2],)"
      R"("family":"stream","kernel":"any"})";
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

inline std::string table_json(const std::string& entries) {
  return R"({"heddle_tuned":3,"gpu":"h100","families":{"stream":1,"tiles":2},"entries":[)" +
         entries + "]}";
}

// Costs of a family, each `times` its built-in value.
inline TunedCosts costs_for(const GemmFamily& family, double times) {
  TunedCosts costs;
  costs.family = family.name();
  costs.version = family.cost_version();
  for (const CostParameter& one : family.cost_parameters()) {
    const CostRange range = range_of(one);
    costs.values[std::string(one.name)] = std::clamp(times * one.value, range.least, range.most);
  }
  return costs;
}

inline const GemmFamily& family_named(std::string_view name) {
  for (const GemmFamily* family : gemm_families()) {
    if (family->name() == name) return *family;
  }
  throw std::out_of_range(std::string(name));
}

// The error that TunedTable::parse throws; a failure of the test if it throws none.
inline Error tuned_error(std::string_view json) {
  try {
    TunedTable::parse(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kSpec);
    return error;
  }
  ADD_FAILURE() << "accepted: " << json.substr(0, 200);
  return Error(ErrorCategory::kInternal, "none", "");
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_TUNED_TABLES_H_
