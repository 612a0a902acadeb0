#include "tools/heddle/plan/explain_report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/families/registry.h"
#include "heddle/target.h"

namespace heddle {
namespace {

Explanation explained(std::int64_t m) {
  const Spec spec = Spec::parse(
      R"({"heddle": 1, "op": "gemm", "shape": {"n": 4096, "k": 4096, "m": [1, 64]},
          "weight": {"bits": 4, "type": "uint", "group_size": 128},
          "activation": {"dtype": "fp16"}})");
  return explain_choice(resolve(spec, target_from_name("h200")), m);
}

using Places = std::vector<std::size_t>;

TEST(ExplainReport, TheChosenOneIsAlwaysShown) {
  Explanation one = explained(16);
  one.chosen = 1;
  EXPECT_EQ(shown_places(one, 3), (Places{0, 1, 2}));
  one.chosen = 7;
  EXPECT_EQ(shown_places(one, 3), (Places{0, 1, 2, 7}));
  EXPECT_EQ(shown_places(one, 1), (Places{0, 7}));
  EXPECT_EQ(shown_places(one, 100000).size(), one.candidates.size());
}

// What a sweep of these places measured: times by the place in its list.
Sweep sweep_of_times(const std::vector<double>& times) {
  Sweep sweep;
  for (std::size_t i = times.size(); i-- > 0;) {
    PlanTime row;
    row.plan = i;
    row.us = times[i];
    sweep.rows.push_back(row);
  }
  return sweep;
}

TEST(ExplainReport, MeasuredTimesFindTheirCandidates) {
  const MeasuredUs measured = measured_us(sweep_of_times({9, 8, 7}), {4, 0, 1});
  EXPECT_EQ(measured, (MeasuredUs{{4, 9}, {0, 8}, {1, 7}}));
  Explanation one = explained(16);
  one.chosen = 4;
  const std::string text = explain_text(one, 5, measured);
  EXPECT_NE(text.find("MEASURED"), text.npos);
  EXPECT_NE(text.find("place 2 is the fastest; the plan's takes 28.6 % more"), text.npos) << text;
  const nlohmann::ordered_json json = explain_json(one, 5, measured);
  EXPECT_EQ(json["rows"][1]["measured_us"], 7);
  EXPECT_EQ(json["chosen"]["measured_us"], 9);
  EXPECT_FALSE(json["rows"][2].contains("measured_us"));
}

TEST(ExplainReport, OperationsSayTheirOwnSizes) {
  const Spec spec = Spec::parse(
      R"({"heddle": 1, "op": "decode_attention", "activation": {"dtype": "fp16"},
          "shape": {"heads": 32, "kv_heads": 8, "head_dim": 128}, "kv": {"dtype": "int4"}})");
  const Explanation one =
      explain_choice(resolve(spec, target_from_name("h200")), LaunchSize{1024, 64});
  const std::string text = explain_text(one, 2, {});
  EXPECT_EQ(text.find("64x1024: "), 0U) << text;
  EXPECT_NE(text.find(" for tokens 1 to 8160: "), text.npos) << text;
  const nlohmann::ordered_json json = explain_json(one, 2, {});
  EXPECT_EQ(json["sequences"], 64);
  EXPECT_EQ(json["length"], 1024);
  EXPECT_EQ(json["chosen_sizes"][1], 8160);
  EXPECT_GT(json["rows"][0]["predicted_us"], 0);
}

TEST(ExplainReport, EveryCostHasAUnitAndAMeaning) {
  const Plan plan;
  for (const GemmFamily* family : gemm_families()) {
    const auto json = costs_json(plan)[std::string(family->name())];
    ASSERT_EQ(json.size(), family->cost_parameters().size());
    for (const auto& cost : json) {
      EXPECT_FALSE(cost["unit"].get<std::string>().empty());
      EXPECT_FALSE(cost["meaning"].get<std::string>().empty());
      EXPECT_EQ(cost["from"], "built in");
      EXPECT_EQ(cost["value"], cost["built_in"]);
    }
  }
  std::size_t lines = 1;
  for (const GemmFamily* family : gemm_families()) lines += family->cost_parameters().size();
  const std::string text = costs_text(plan);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), lines) << text;
}

}  // namespace
}  // namespace heddle
