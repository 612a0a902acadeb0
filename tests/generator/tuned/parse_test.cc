// What a table's text may say, and how it is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/generator/spec/spec_helpers.h"
#include "tests/generator/tuned/tables.h"

namespace heddle {
namespace {

// The text has one problem, at this place.
void expect_problem(const std::string& json, const std::string& pointer, const std::string& code) {
  const Error error = tuned_error(json);
  EXPECT_EQ(error.code(), "tuned." + code) << error.what();
  ASSERT_EQ(error.problems().size(), 1U) << error.what();
  EXPECT_EQ(error.problems().front().pointer, pointer) << error.what();
}

void expect_entry_problem(std::string_view from, std::string_view to, const std::string& pointer,
                          const std::string& code) {
  const std::string other = entry_json("[1,2]", "[1000,2000]");
  expect_problem(table_json(other + "," + entry_json(from, to)), "/entries/1" + pointer, code);
}

TEST(TunedParse, ReadsEveryField) {
  const TunedTable table = TunedTable::parse(table_json(entry_json(
      R"("kernel":"any")", R"("version":3,"kernel":"warps 8","us":5,"from":"a bench, in May")")));
  EXPECT_EQ(table.gpu(), "h100");
  ASSERT_EQ(table.entries().size(), 1U);
  const TunedEntry& entry = table.entries().front();
  EXPECT_EQ(entry.weight.bits, 4);
  EXPECT_EQ(entry.weight.group_size, 128);
  EXPECT_EQ(entry.activation, DType::kFp16);
  EXPECT_EQ(entry.n, 4096);
  EXPECT_EQ(entry.k, 4096);
  EXPECT_EQ(entry.m_first, 1);
  EXPECT_EQ(entry.m_last, 2);
  EXPECT_EQ(entry.family, "stream");
  EXPECT_EQ(entry.family_version, 3);
  EXPECT_EQ(entry.kernel, "warps 8");
  EXPECT_EQ(entry.us, 5);
  EXPECT_EQ(entry.from, "a bench, in May");
}

TEST(TunedParse, AnEntryWithoutAVersionHasThatOfTheTable) {
  const TunedTable table = TunedTable::parse(table_json(entry_json(R"("stream")", R"("tiles")")));
  EXPECT_EQ(table.entries().front().family_version, 2);
  EXPECT_EQ(table.entries().front().us, 0);
}

TEST(TunedParse, AWeightMeansWhatItMeansInASpec) {
  const TunedTable table = TunedTable::parse(table_json(entry_json(R"("fp16")", R"("bf16")")));
  EXPECT_EQ(table.entries().front().weight.scale_dtype, DType::kBf16);
}

TEST(TunedParse, RefusesEntriesByPointer) {
  expect_entry_problem(R"("n":4096,)", "", "/n", "missing_field");
  expect_entry_problem(R"("m":[1,2],)", "", "/m", "missing_field");
  expect_entry_problem(R"("weight":{"bits":4},)", "", "/weight", "missing_field");
  expect_entry_problem(R"("activation":{"dtype":"fp16"},)", "", "/activation", "missing_field");
  expect_entry_problem(R"("family":"stream",)", "", "/family", "missing_field");
  expect_entry_problem(R"(,"kernel":"any")", "", "/kernel", "missing_field");
  expect_entry_problem(R"("n":4096)", R"("n":"4096")", "/n", "wrong_type");
  expect_entry_problem(R"([1,2])", "[1]", "/m", "wrong_type");
  expect_entry_problem(R"([1,2])", "[0,2]", "/m/0", "out_of_range");
  expect_entry_problem(R"([1,2])", "[3,2]", "/m", "meaning");
  expect_entry_problem(R"("bits":4)", R"("bits":9)", "/weight/bits", "out_of_range");
  expect_entry_problem(R"("bits":4)", R"("bits":4,"group":9)", "/weight/group", "unknown_field");
  expect_entry_problem(R"("bits":4)", R"("bits":4,"group_size":48)", "/weight/group_size",
                       "meaning");
  expect_entry_problem(R"("fp16")", R"("fp8")", "/activation/dtype", "unknown_word");
  expect_entry_problem(R"("fp16")", R"("fp16","act_order":true)", "/activation/act_order",
                       "unknown_field");
  expect_entry_problem(R"("stream")", R"("steam")", "/family", "unknown_family");
  expect_entry_problem(R"("stream")", R"("warpgroup")", "/family", "missing_version");
  expect_entry_problem(R"("stream")", R"("stream","version":0)", "/version", "out_of_range");
  expect_entry_problem(R"("any")", R"("")", "/kernel", "bad_text");
  expect_entry_problem(R"("any")", R"("a\nb")", "/kernel", "bad_text");
  expect_entry_problem(R"("any")", R"("any","us":0)", "/us", "out_of_range");
  expect_entry_problem(R"("any")", R"("any","us":"5")", "/us", "wrong_type");
  expect_entry_problem(R"("any")", R"("any","from":5)", "/from", "wrong_type");
  expect_entry_problem(R"("any")", R"("any","epilogue":{})", "/epilogue", "unknown_field");
  expect_problem(table_json("7"), "/entries/0", "wrong_type");
}

TEST(TunedParse, RefusesTablesByPointer) {
  const std::string good = table_json("");
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  expect_problem("[]", "", "wrong_type");
  expect_problem("{", "", "syntax");
  expect_problem("{}", "/heddle_tuned", "missing_field");
  expect_problem(changed(R"("gpu":"h100",)", ""), "/gpu", "missing_field");
  expect_problem(changed(R"("h100")", R"("h10")"), "/gpu", "unknown_gpu");
  expect_problem(changed(R"("h100")", R"("sm_90")"), "/gpu", "unknown_gpu");
  expect_problem(changed(R"("stream":1)", R"("stream":"1")"), "/families/stream", "wrong_type");
  expect_problem(changed(R"("stream":1)", R"("steam":1)"), "/families/steam", "unknown_field");
  expect_problem(changed(R"("entries":[])", R"("entries":{})"), "/entries", "wrong_type");
  expect_problem(changed(R"("gpu")", R"("date":1,"gpu")"), "/date", "unknown_field");
  expect_problem(changed(R"("gpu")", R"("gpu":"h200","gpu")"), "/gpu", "duplicate_field");
}

// A table with an entry of eight bits.
std::string byte_table(std::string_view from = "", std::string_view to = "") {
  std::string text =
      R"({"heddle_tuned":3,"gpu":"h100","families":{"warpgroup":3},"entries":[{"weight":{"bits":8,)"
      R"("type":"e4m3","group_size":-1},"activation":{"dtype":"fp8_e4m3","granularity":"token"},)"
      R"("n":4096,"k":4096,"m":[1,2],"family":"warpgroup","kernel":"any"}]})";
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TunedParse, ReadsActivationsOfEightBits) {
  const TunedTable table =
      TunedTable::parse(byte_table(R"("n":)", R"("accumulation":"fast","n":)"));
  const TunedEntry& entry = table.entries().front();
  EXPECT_EQ(entry.activation, DType::kFp8E4m3);
  EXPECT_EQ(entry.activation_scale.granularity, RowGranularity::kToken);
  EXPECT_TRUE(entry.activation_scale.symmetric);
  EXPECT_EQ(entry.accumulation, Accumulation::kFast);
  EXPECT_EQ(entry.weight.scale_dtype, DType::kFp32);
  EXPECT_EQ(entry.weight.interleave, Interleave::kSwizzle128b);
}

TEST(TunedParse, RefusesActivationsOfEightBitsByPointer) {
  const auto refused = [](std::string_view from, std::string_view to, const std::string& pointer,
                          const std::string& code) {
    expect_problem(byte_table(from, to), "/entries/0" + pointer, code);
  };
  refused(R"(,"granularity":"token")", "", "/activation/granularity", "meaning");
  refused(R"("token")", R"("row")", "/activation/granularity", "unknown_word");
  refused(R"("token")", R"("token","symmetric":false)", "/activation/symmetric", "meaning");
  refused(R"("token")", R"("token","act_order":false)", "/activation/act_order", "unknown_field");
  refused(R"("n":)", R"("accumulation":"slow","n":)", "/accumulation", "unknown_word");
  refused(R"("n":)", R"("output":{"dtype":"bf16"},"n":)", "/output", "unknown_field");
  refused(R"("type":"e4m3")", R"("type":"int")", "/weight/type", "meaning");
}

// Another format may have fields that this library does not know: only the version is told.
TEST(TunedParse, RefusesAnotherVersionByName) {
  for (const char* version : {"1", "2", "4"}) {
    const std::string text = std::string(R"({"heddle_tuned":)") + version + R"(,"gpus":[]})";
    expect_problem(text, "/heddle_tuned", "other_version");
    const Problem problem = tuned_error(text).problems().front();
    EXPECT_EQ(problem.value, version);
    EXPECT_EQ(problem.allowed, "3");
    EXPECT_NE(problem.hint.find("heddle tune"), std::string::npos);
  }
}

// A table with these costs, and no entries.
std::string costs_table(const std::string& costs) {
  return R"({"heddle_tuned":3,"gpu":"h100","families":{},"costs":)" + costs + R"(,"entries":[]})";
}

// The text of a family's costs, with the first `from` replaced by `to`.
std::string stream_costs(std::string_view from = "", std::string_view to = "") {
  std::string text =
      R"({"stream":{"version":3,"values":{"start":2000,"issue":3,"warp_issue":0.4,)"
      R"("stage":275.5,"token_bytes":28,"row_block":35,"exchange":1442,"overlap":4.5}}})";
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TunedParse, ReadsCosts) {
  const TunedTable table = TunedTable::parse(
      costs_table(stream_costs(R"("version":3)", R"("from":"a card","version":3)")));
  ASSERT_EQ(table.costs().size(), 1U);
  const TunedCosts& costs = table.costs().front();
  EXPECT_EQ(costs.family, "stream");
  EXPECT_EQ(costs.version, 3);
  EXPECT_EQ(costs.from, "a card");
  EXPECT_EQ(costs.values.size(), family_named("stream").cost_parameters().size());
  EXPECT_EQ(costs.values.at("stage"), 275.5);
  EXPECT_EQ(costs.values.at("start"), 2000);
  EXPECT_TRUE(TunedTable::parse(costs_table("{}")).costs().empty());
}

TEST(TunedParse, RefusesCostsByPointer) {
  const auto refused = [](std::string_view from, std::string_view to, const std::string& pointer,
                          const std::string& code) {
    expect_problem(costs_table(stream_costs(from, to)), "/costs/stream" + pointer, code);
  };
  expect_problem(costs_table("[]"), "/costs", "wrong_type");
  expect_problem(costs_table(R"({"steam":{}})"), "/costs/steam", "unknown_field");
  expect_problem(costs_table(R"({"stream":7})"), "/costs/stream", "wrong_type");
  refused(R"("version":3,)", "", "/version", "missing_field");
  refused(R"("version":3)", R"("version":0)", "/version", "out_of_range");
  refused(R"("version":3)", R"("version":"1")", "/version", "wrong_type");
  refused(R"("version":3)", R"("version":3,"date":1)", "/date", "unknown_field");
  refused(R"("version":3)", R"("version":3,"from":1)", "/from", "wrong_type");
  refused(R"("start":2000,)", "", "/values/start", "missing_field");
  refused(R"("start":2000)", R"("start":2000,"begin":1)", "/values/begin", "unknown_field");
  refused(R"("start":2000)", R"("start":"2000")", "/values/start", "wrong_type");
  refused(R"("start":2000)", R"("start":null)", "/values/start", "wrong_type");
  for (const char* value : {"0", "-5", "1e300", "-0.0", "1e-300", "2e9"}) {
    refused("2000", value, "/values/start", "out_of_range");
  }
  // No exponent makes two times shorter than the longer one, and an SM issues four instructions.
  refused(R"("overlap":4.5)", R"("overlap":0.9)", "/values/overlap", "out_of_range");
  refused(R"("overlap":4.5)", R"("overlap":13)", "/values/overlap", "out_of_range");
  refused(R"("issue":3)", R"("issue":4.5)", "/values/issue", "out_of_range");
  refused(R"("warp_issue":0.4)", R"("warp_issue":1.5)", "/values/warp_issue", "out_of_range");
}

// Whoever has an older table, or a newer one, still can use its entries.
TEST(TunedParse, CostsOfAnotherVersionAreKeptWhateverTheirNames) {
  const TunedTable table =
      TunedTable::parse(costs_table(R"({"stream":{"version":7,"values":{"of tomorrow":1.5}}})"));
  EXPECT_EQ(table.costs().front().version, 7);
  EXPECT_EQ(table.costs().front().values.at("of tomorrow"), 1.5);
  EXPECT_EQ(TunedTable::parse(table.to_json()).to_json(), table.to_json());
  const auto refused = [](const std::string& values, const std::string& pointer,
                          const std::string& code) {
    expect_problem(costs_table(R"({"stream":{"version":7,"values":)" + values + "}}"),
                   "/costs/stream/values" + pointer, code);
  };
  refused("{}", "", "out_of_range");
  refused(R"({"a":0})", "/a", "out_of_range");
  refused(R"({"a":"b"})", "/a", "wrong_type");
}

TEST(TunedParse, FromEntriesChecksCosts) {
  const GemmFamily& stream = family_named("stream");
  const auto pointer = [](const std::vector<TunedCosts>& costs) {
    try {
      TunedTable::from_entries("h100", {}, costs);
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kSpec);
      return error.problems().front().pointer;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(pointer({costs_for(stream, 1)}), "accepted");
  EXPECT_EQ(pointer({costs_for(stream, 1), costs_for(stream, 1)}), "/costs/stream");
  TunedCosts costs = costs_for(stream, 1);
  costs.values["start"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(pointer({costs}), "/costs/stream/values/start");
  costs.values["start"] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(pointer({costs}), "/costs/stream/values/start");
  costs.values.erase("start");
  EXPECT_EQ(pointer({costs}), "/costs/stream/values/start");
}

TEST(TunedParse, RefusesRangesThatOverlap) {
  const std::string first = entry_json("[1,2]", "[1,8]");
  for (const char* m : {"[1,1]", "[8,8]", "[3,20]", "[1,8]"}) {
    expect_problem(table_json(first + "," + entry_json("[1,2]", m)), "/entries/1/m", "overlap");
  }
  // A long range before a short one within it, with one in between.
  expect_problem(table_json(entry_json("[1,2]", "[30,30]") + "," + entry_json("[1,2]", "[20,21]") +
                            "," + entry_json("[1,2]", "[22,40]")),
                 "/entries/2/m", "overlap");
  const std::string other_shape = entry_json(R"("n":4096)", R"("n":8192)");
  const std::string other_format = entry_json(R"("bits":4)", R"("bits":3)");
  const std::string next = entry_json("[1,2]", "[9,9]");
  EXPECT_EQ(
      TunedTable::parse(table_json(next + "," + first + "," + other_shape + "," + other_format))
          .entries()
          .size(),
      4U);
}

// What is left out is what it stands for.
TEST(TunedParse, DefaultsAreTheSameFormat) {
  const std::string written = entry_json(R"("bits":4)", R"("bits":4,"zero_point":"none")");
  expect_problem(table_json(entry_json() + "," + written), "/entries/1/m", "overlap");
}

// The JSON blocks of the page on tables.
std::vector<std::string> page_blocks() {
  const std::string page = file_text(HEDDLE_TUNED_PAGE);
  constexpr std::string_view kBegin = "```json\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(kBegin); at != page.npos; at = page.find(kBegin, at)) {
    at += kBegin.size();
    blocks.push_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

TEST(TunedParse, TheCostsOfThePageAreCosts) {
  ASSERT_EQ(page_blocks().size(), 2U);
  const TunedTable table = TunedTable::parse(
      R"({"heddle_tuned":3,"gpu":"h100","families":{},"entries":[],)" + page_blocks()[1] + "}");
  EXPECT_EQ(table.costs().size(), 1U);
}

TEST(TunedParse, TheExampleOfThePageDecides) {
  ASSERT_FALSE(page_blocks().empty());
  const TunedTable table = TunedTable::parse(page_blocks()[0]);
  TunedTables tables;
  tables.add(table);
  GemmSpec spec;
  spec.shape = {4096, 4096, 1, 16};
  const Plan plan = resolve(Spec::from_gemm(spec), target_from_name("h100"), tables);
  EXPECT_EQ(plan.reasons[0], "M 1 to 2: stream, of table h100, measured 5.2 us at M = 2");
  EXPECT_EQ(plan.reasons[1], "M 3 to 16: tiles, of table h100");
}

TEST(TunedParse, EveryProblemIsTold) {
  const Error error = tuned_error(
      table_json(entry_json(R"("bits":4)", R"("bits":9)") + "," + entry_json(R"("any")", "7")));
  EXPECT_EQ(error.code(), "tuned.invalid");
  EXPECT_EQ(error.problems().size(), 2U);
}

TEST(TunedParse, AGpuHasOneName) {
  const auto gpu = [](const std::string& name) { return TunedTable::from_entries(name, {}).gpu(); };
  EXPECT_EQ(gpu("H100"), "h100");
  EXPECT_EQ(gpu("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(gpu("h100-pcie"), "h100-pcie");
  EXPECT_EQ(gpu("NVIDIA GeForce RTX 4090"), "rtx4090");
  EXPECT_EQ(gpu("NVIDIA Of Tomorrow"), "NVIDIA Of Tomorrow");
  EXPECT_THROW(gpu(""), Error);
  EXPECT_THROW(gpu("\x80\"\n"), Error);
}

TEST(TunedParse, FromEntriesChecksWhatParseChecks) {
  const auto pointer = [](const TunedEntry& entry) {
    try {
      TunedTable::from_entries("h100", {entry_for(1, 1), entry});
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kSpec);
      return error.problems().front().pointer;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(pointer(entry_for(1, 4)), "/entries/1/m");
  TunedEntry entry = entry_for(8, 9);
  EXPECT_EQ(pointer(entry), "accepted");
  entry.weight.type = static_cast<WeightType>(77);
  EXPECT_EQ(pointer(entry), "/entries/1/weight/type");
  entry = entry_for(8, 9, "a\nb");
  EXPECT_EQ(pointer(entry), "/entries/1/kernel");
  entry = entry_for(8, 9);
  entry.us = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(pointer(entry), "/entries/1/us");
  entry.us = 1;
  entry.family_version = 0;
  EXPECT_EQ(pointer(entry), "/entries/1/version");
}

}  // namespace
}  // namespace heddle
