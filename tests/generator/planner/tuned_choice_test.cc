// What a table of measured kernels does to a plan.
#include "generator/planner/tuned_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "generator/families/family.h"
#include "tests/byte_gemm.h"
#include "tests/generator/planner/gemm_draws.h"
#include "tests/generator/planner/gemm_plans.h"
#include "tests/generator/tuned/tables.h"

namespace heddle {
namespace {

GemmSpec spec_for(std::int64_t m_min, std::int64_t m_max) {
  GemmSpec spec = small_spec();
  spec.shape.m_min = m_min;
  spec.shape.m_max = m_max;
  return spec;
}

TunedEntry measured_entry(const GemmSpec& spec, const MRange& m, const PlannedKernel& kernel) {
  TunedEntry entry;
  entry.weight = spec.weight;
  entry.activation = spec.activation;
  entry.activation_scale = spec.activation_scale;
  entry.accumulation = spec.accumulation;
  entry.n = spec.shape.n;
  entry.k = spec.shape.k;
  entry.m_first = m.min;
  entry.m_last = m.max;
  entry.family = kernel.family->name();
  entry.family_version = gemm_family_of(kernel).version();
  entry.kernel = kernel_label(kernel);
  return entry;
}

// The slowest as predicted: what no plan has without a table.
PlannedKernel slowest(const GemmSpec& spec, const Target& target, const MRange& m) {
  return all_candidates(unplanned(spec, target), m).back().kernel;
}

TunedEntry slow_entry(const GemmSpec& spec, const char* target, const MRange& m) {
  return measured_entry(spec, m, slowest(spec, target_from_name(target), m));
}

TunedTables tables_of(const char* gpu, const std::vector<TunedEntry>& entries) {
  TunedTables tables;
  tables.add(TunedTable::from_entries(gpu, entries));
  return tables;
}

Plan tuned_plan(const GemmSpec& spec, const char* target, const TunedTables& tables) {
  return resolve(Spec::from_gemm(spec), target_from_name(target), tables);
}

bool has_reason(const Plan& plan, const std::string& part) {
  return std::any_of(plan.reasons.begin(), plan.reasons.end(), [&](const std::string& reason) {
    return reason.find(part) != std::string::npos;
  });
}

nlohmann::json kernels_json(const Plan& plan) {
  return nlohmann::json::parse(plan_to_json(plan)).at("kernels");
}

void expect_kernel(const Plan& plan, const TunedEntry& entry, const MRange& m) {
  const PlannedKernel& kernel = plan.kernels[plan.kernel_for(m.min)];
  EXPECT_EQ(kernel.family->name(), entry.family);
  EXPECT_EQ(kernel_label(kernel), entry.kernel);
  EXPECT_EQ(kernel.size_min, m.min);
  EXPECT_EQ(kernel.size_max, m.max);
}

void expect_cover(const Plan& plan) {
  std::int64_t next = plan.spec.gemm().shape.m_min;
  for (const PlannedKernel& kernel : plan.kernels) {
    EXPECT_EQ(kernel.size_min, next);
    EXPECT_GE(kernel.size_max, kernel.size_min);
    next = kernel.size_max + 1;
  }
  EXPECT_EQ(next, plan.spec.gemm().shape.m_max + 1);
}

TEST(TunedChoice, AnEntryDecidesAndThePlanSaysSo) {
  const GemmSpec spec = spec_for(1, 64);
  TunedEntry entry = slow_entry(spec, "h100", {3, 20});
  entry.us = 7.25;
  const Plan plan = tuned_plan(spec, "h100", tables_of("h100", {entry}));
  expect_cover(plan);
  expect_kernel(plan, entry, {3, 20});
  EXPECT_TRUE(has_reason(
      plan, "M 3 to 20: " + entry.family + ", of table h100, measured 7.2 us at M = 20"));
  EXPECT_TRUE(has_reason(plan, "M 1 to 2: "));
  EXPECT_TRUE(has_reason(plan, ", predicted "));
}

// What an entry leaves of a plan's kernels goes to the ranges beside it, to long ones more.
TEST(TunedChoice, GapsAreChosenByPrediction) {
  const GemmSpec spec = spec_for(1, 300);
  const TunedEntry entry = slow_entry(spec, "h100", {40, 50});
  const TunedTables tables = tables_of("h100", {entry});
  const Plan plan = tuned_plan(spec, "h100", tables);
  expect_cover(plan);
  const Target target = target_from_name("h100");
  const TunedChoice choice = choose_with_table(unplanned(spec, target), tables.of(target));
  ASSERT_EQ(choice.ranges.size(), 3U);
  EXPECT_TRUE(choice.ranges[1].entry);
  std::size_t kernels = 1;
  for (const std::size_t i : {0, 2}) {
    const ChosenRange& range = choice.ranges[i];
    EXPECT_FALSE(range.entry);
    kernels += range.most_kernels;
    Plan gap = unplanned(spec_for(range.m.min, range.m.max), target);
    for (const Candidate& one : choose_kernels(gap, range.m, range.most_kernels)) {
      gap.kernels.push_back(one.kernel);
    }
    for (std::int64_t m = range.m.min; m <= range.m.max; ++m) {
      const PlannedKernel& kernel = plan.kernels[plan.kernel_for(m)];
      const PlannedKernel& expected = gap.kernels[gap.kernel_for(m)];
      EXPECT_EQ(kernel.family, expected.family) << m;
      EXPECT_EQ(kernel_label(kernel), kernel_label(expected)) << m;
    }
  }
  EXPECT_EQ(kernels, kMostKernels);
  EXPECT_GT(choice.ranges[2].most_kernels, 1U);
}

TEST(TunedChoice, TablesAreNotUsedForSpecsThatSettleTheirKernels) {
  GemmSpec spec;
  EXPECT_EQ(what_no_table_has(spec), nullptr);
  spec.tile.stages = 3;
  EXPECT_STREQ(what_no_table_has(spec), "a tile");
  spec.path = Path::kAmpere;
  EXPECT_STREQ(what_no_table_has(spec), "a path");
  EXPECT_EQ(what_no_table_has(byte_gemm(256, 512, DType::kInt8)), nullptr);
  spec = {};
  spec.batch_invariant = true;
  EXPECT_STREQ(what_no_table_has(spec), "batch_invariant");
}

TEST(TunedChoice, ABatchInvariantPlanHasNoEntryAndSaysWhy) {
  GemmSpec spec = spec_for(1, 64);
  const TunedEntry entry = slow_entry(spec, "h200", {1, 2});
  const TunedTables tables = tables_of("h200", {entry});
  EXPECT_TRUE(has_reason(tuned_plan(spec, "h200", tables), "of table h200"));
  spec.batch_invariant = true;
  const Plan plan = tuned_plan(spec, "h200", tables);
  EXPECT_TRUE(has_reason(plan, "table h200 is not used: the spec sets batch_invariant"));
  EXPECT_FALSE(has_reason(plan, "of table h200"));
  EXPECT_EQ(kernels_json(plan), kernels_json(plan_of(spec, "h200")));
}

TEST(TunedChoice, RangesAreClippedToTheSpecs) {
  const GemmSpec narrow = spec_for(10, 16);
  const TunedEntry entry = slow_entry(narrow, "h100", {10, 16});
  TunedEntry wide = entry;
  wide.m_first = 1;
  wide.m_last = 64;
  wide.us = 3;
  const Plan plan = tuned_plan(narrow, "h100", tables_of("h100", {wide}));
  ASSERT_EQ(plan.kernels.size(), 1U);
  expect_kernel(plan, entry, {10, 16});
  // The time is that of 64 tokens.
  EXPECT_FALSE(has_reason(plan, "3.0 us"));
}

// A kernel for 64 tokens may be none for 4.
TEST(TunedChoice, TheKernelIsOneForTheClippedRange) {
  const GemmSpec spec = spec_for(1, 64);
  const TunedEntry entry = slow_entry(spec, "h100", {1, 64});
  const Plan plan = tuned_plan(spec_for(1, 4), "h100", tables_of("h100", {entry}));
  EXPECT_EQ(kernels_json(plan), kernels_json(plan_of(spec_for(1, 4), "h100")));
  EXPECT_TRUE(has_reason(plan, "M 1 to 4: not as measured: " + entry.family + " has no kernel \"" +
                                   entry.kernel + "\" of table h100"));
}

TEST(TunedChoice, AnotherVersionOfTheFamilyIsNotUsedAndThePlanSaysSo) {
  const GemmSpec spec = spec_for(1, 64);
  TunedEntry entry = slow_entry(spec, "h100", {3, 20});
  ++entry.family_version;
  const Plan plan = tuned_plan(spec, "h100", tables_of("h100", {entry}));
  EXPECT_EQ(kernels_json(plan), kernels_json(plan_of(spec, "h100")));
  EXPECT_TRUE(has_reason(plan, "M 3 to 20: not as measured: table h100 is of version "));
}

TEST(TunedChoice, AnUnknownLabelIsNotUsedAndThePlanSaysSo) {
  const GemmSpec spec = spec_for(1, 64);
  TunedEntry entry = slow_entry(spec, "h100", {3, 20});
  entry.kernel = "none";
  const Plan plan = tuned_plan(spec, "h100", tables_of("h100", {entry}));
  EXPECT_EQ(kernels_json(plan), kernels_json(plan_of(spec, "h100")));
  EXPECT_TRUE(has_reason(plan, "has no kernel \"none\" of table h100"));
}

TEST(TunedChoice, OtherGpusFormatsAndShapesAreUnaffected) {
  const GemmSpec spec = spec_for(1, 64);
  const TunedTables tables = tables_of("h100", {slow_entry(spec, "h100", {1, 64})});
  const auto expect_unaffected = [&](const GemmSpec& other, const char* target) {
    EXPECT_EQ(plan_to_json(tuned_plan(other, target, tables)),
              plan_to_json(plan_of(other, target)));
  };
  for (const char* target : {"h200", "h100-pcie", "sm_90", "a100"}) expect_unaffected(spec, target);
  GemmSpec other = spec;
  other.shape.n = 8192;
  expect_unaffected(other, "h100");
  other = spec;
  other.weight.zero_point = ZeroPoint::kInt;
  expect_unaffected(other, "h100");
  other = spec;
  other.shape.m_min = 65;
  other.shape.m_max = 100;
  expect_unaffected(other, "h100");
}

// GEMMs of 8 bits whose formats differ, and one of 16.
std::vector<GemmSpec> byte_formats() {
  const GemmSpec int8 = byte_gemm(4096, 4096, DType::kInt8);
  const GemmSpec fp8 = byte_gemm(4096, 4096, DType::kFp8E4m3);
  std::vector<GemmSpec> all{int8, fp8, byte_gemm(4096, 4096, DType::kFp8E5m2),
                            block_gemm(4096, 4096)};
  all.push_back(int8);
  all.back().activation_scale.granularity = RowGranularity::kTensor;
  all.push_back(int8);
  all.back().activation_scale.symmetric = false;
  all.push_back(fp8);
  all.back().accumulation = Accumulation::kFast;
  all.push_back(fp8);
  all.back().weight.type = WeightType::kE5m2;
  all.push_back(block_gemm(4096, 4096));
  all.back().activation_scale.scale_dtype = RowScaleDtype::kE8m0;
  all.push_back(small_spec());
  for (GemmSpec& spec : all) {
    spec.shape = {4096, 4096, 1, 64};
  }
  return all;
}

TEST(TunedChoice, AnEntryOfEightBitsDecidesForItsFormatAlone) {
  const std::vector<GemmSpec> formats = byte_formats();
  for (const GemmSpec& own : formats) {
    TunedEntry entry = slow_entry(own, "h100", {9, 40});
    entry.us = 3;
    const TunedTables tables = tables_of("h100", {entry});
    for (const GemmSpec& spec : formats) {
      SCOPED_TRACE(Spec::from_gemm(spec).canonical_json());
      const Plan plan = tuned_plan(spec, "h100", tables);
      expect_cover(plan);
      if (&spec == &own) {
        expect_kernel(plan, entry, {9, 40});
        EXPECT_TRUE(has_reason(plan, ", of table h100, measured 3.0 us at M = 40"));
      } else {
        EXPECT_EQ(plan_to_json(plan), plan_to_json(plan_of(spec, "h100")));
      }
    }
  }
}

// Y's type is the epilogue's.
TEST(TunedChoice, AnEntryOfEightBitsIsOfEveryTypeOfY) {
  GemmSpec spec = byte_formats().front();
  const TunedTables tables = tables_of("h100", {slow_entry(spec, "h100", {9, 40})});
  spec.output = DType::kBf16;
  spec.epilogue.bias = true;
  EXPECT_TRUE(has_reason(tuned_plan(spec, "h100", tables), "M 9 to 40: warpgroup, of table h100"));
}

TEST(TunedChoice, TheGpuAtHandHasTheTableOfItsName) {
  const GemmSpec spec = spec_for(1, 64);
  const TunedTables tables = tables_of("h100", {slow_entry(spec, "h100", {1, 64})});
  Target device = target_from_name("h100");
  device.name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(kernels_json(resolve(Spec::from_gemm(spec), device, tables)),
            kernels_json(tuned_plan(spec, "h100", tables)));
}

TEST(TunedChoice, TheEpilogueMakesNoOtherMatch) {
  GemmSpec spec = spec_for(1, 64);
  const TunedEntry entry = slow_entry(spec, "h100", {1, 64});
  spec.epilogue.bias = true;
  spec.epilogue.residual = true;
  expect_kernel(tuned_plan(spec, "h100", tables_of("h100", {entry})), entry, {1, 64});
}

TEST(TunedChoice, ATileOrAPathInTheSpecTurnsTablesOff) {
  const GemmSpec spec = spec_for(1, 64);
  const TunedTables tables = tables_of("h100", {slow_entry(spec, "h100", {1, 64})});
  GemmSpec path = spec;
  path.path = Path::kHopper;
  GemmSpec tile = spec;
  tile.tile.stages = 4;
  for (const auto& [other, word] : {std::pair{path, "path"}, std::pair{tile, "tile"}}) {
    const Plan plan = tuned_plan(other, "h100", tables);
    EXPECT_EQ(kernels_json(plan), kernels_json(plan_of(other, "h100")));
    EXPECT_TRUE(has_reason(plan, std::string("table h100 is not used: the spec sets a ") + word));
  }
}

// The tiles of an a100 are compiled without the number of tokens.
TEST(TunedChoice, NeighboursThatAreOneKernelAreOne) {
  const GemmSpec spec = spec_for(1, 128);
  const TunedEntry whole = slow_entry(spec, "a100", {65, 128});
  TunedEntry first = whole;
  first.m_last = 100;
  TunedEntry second = whole;
  second.m_first = 101;
  const Plan plan = tuned_plan(spec, "a100", tables_of("a100", {first, second}));
  expect_cover(plan);
  expect_kernel(plan, whole, {65, 128});
  EXPECT_TRUE(has_reason(plan, "M 65 to 100: tiles, of table a100"));
  EXPECT_TRUE(has_reason(plan, "M 101 to 128: tiles, of table a100"));
}

TEST(TunedChoice, AMeasuredKernelJoinsThePredictedOneThatItIs) {
  const GemmSpec spec = spec_for(1, 128);
  const Plan predicted = plan_of(spec, "a100");
  const PlannedKernel& last = predicted.kernels.back();
  const MRange m{last.size_max - 1, last.size_max};
  for (const Candidate& one : all_candidates(unplanned(spec, predicted.target), m)) {
    if (kernel_label(one.kernel) != kernel_label(last)) continue;
    const Plan plan =
        tuned_plan(spec, "a100", tables_of("a100", {measured_entry(spec, m, one.kernel)}));
    EXPECT_EQ(plan.kernels.back().size_max, m.max);
    EXPECT_LT(plan.kernels.back().size_min, m.min);
    expect_cover(plan);
    return;
  }
  FAIL() << "the chosen kernel is no candidate of its last M";
}

// Shared memory of a stream holds as many tokens as the range has.
TEST(TunedChoice, NeighboursOfOneLabelThatDifferAreTwo) {
  const GemmSpec spec = spec_for(1, 4);
  std::vector<TunedEntry> entries;
  for (const Candidate& one : all_candidates(unplanned(spec, target_from_name("h100")), {1, 2})) {
    if (!is_stream(one.kernel)) continue;
    entries = {measured_entry(spec, {1, 2}, one.kernel), measured_entry(spec, {3, 4}, one.kernel)};
    break;
  }
  ASSERT_EQ(entries.size(), 2U);
  const Plan plan = tuned_plan(spec, "h100", tables_of("h100", entries));
  ASSERT_EQ(plan.kernels.size(), 2U);
  expect_kernel(plan, entries[0], {1, 2});
  expect_kernel(plan, entries[1], {3, 4});
}

// A table's costs of one family: every kernel of it takes ten times as long.
TunedTables slow_family(const char* gpu, const GemmFamily& family,
                        const std::vector<TunedEntry>& entries = {}, int version = 0) {
  TunedCosts costs = costs_for(family, 1);
  for (const CostParameter& one : family.cost_parameters()) {
    double& value = costs.values.at(std::string(one.name));
    if (one.unit == "clocks") value *= 10;
    if (one.unit.ends_with(" a clock")) value /= 10;
  }
  if (version != 0) costs.version = version;
  TunedTables tables;
  tables.add(TunedTable::from_entries(gpu, entries, {costs}));
  return tables;
}

TEST(TunedChoice, CostsOfTheTableDecideWhereKernelsArePredicted) {
  const GemmSpec spec = spec_for(1, 8);
  const Plan built_in = plan_of(spec, "h100");
  const GemmFamily& family = gemm_family_of(built_in.kernels.back());
  const TunedTables tables = slow_family("h100", family);
  const Plan plan = tuned_plan(spec, "h100", tables);
  expect_cover(plan);
  for (const PlannedKernel& kernel : plan.kernels) EXPECT_NE(kernel.family, &family);
  EXPECT_TRUE(has_reason(
      plan, "predicted with the costs that table h100 has of " + std::string(family.name())));
  EXPECT_FALSE(has_reason(built_in, "costs that table"));
  // The candidates that explain and sweeps show are predicted with the same costs.
  const std::vector<Candidate> all = all_candidates(plan, {5, 8});
  EXPECT_EQ(kernel_label(all.front().kernel), kernel_label(plan.kernels.back()));
  EXPECT_EQ(plan_to_json(plan), plan_to_json(tuned_plan(spec, "h100", tables)));
}

TEST(TunedChoice, CostsAreThoseOfOneGpuAndOfEverySpec) {
  GemmSpec spec = spec_for(1, 8);
  const GemmFamily& family = gemm_family_of(plan_of(spec, "h100").kernels.back());
  const TunedTables tables = slow_family("h100", family);
  for (const char* target : {"h200", "h100-pcie", "a100"}) {
    EXPECT_EQ(plan_to_json(tuned_plan(spec, target, tables)), plan_to_json(plan_of(spec, target)));
  }
  // Entries are not used for a spec that asks for a path, costs are.
  spec.path = Path::kHopper;
  EXPECT_TRUE(has_reason(tuned_plan(spec, "h100", tables), "predicted with the costs that table"));
}

TEST(TunedChoice, AnEntryDecidesWhateverTheCosts) {
  const GemmSpec spec = spec_for(1, 8);
  const Plan built_in = plan_of(spec, "h100");
  const PlannedKernel& kernel = built_in.kernels.back();
  const TunedEntry entry = measured_entry(spec, {kernel.size_min, kernel.size_max}, kernel);
  const TunedTables tables = slow_family("h100", gemm_family_of(kernel), {entry});
  expect_kernel(tuned_plan(spec, "h100", tables), entry, {kernel.size_min, kernel.size_max});
}

TEST(TunedChoice, CostsOfAnotherVersionAreNotUsedAndThePlanSaysSo) {
  const GemmSpec spec = spec_for(1, 8);
  const GemmFamily& family = gemm_family_of(plan_of(spec, "h100").kernels.back());
  const Plan plan = tuned_plan(spec, "h100", slow_family("h100", family, {}, 99));
  EXPECT_EQ(kernels_json(plan), kernels_json(plan_of(spec, "h100")));
  EXPECT_TRUE(has_reason(plan, "table h100 has them of version 99, this is version "));
}

// Random tables of kernels that the specs can have: plans are pure, cover every M, and have what
// was measured.
TEST(TunedChoice, PlansFollowAnyTable) {
  std::mt19937 random(11);
  GemmDraws draws(12);
  int used = 0;
  for (const Target& target : known_targets()) {
    if (target.name.starts_with("sm_")) continue;
    GemmSpec spec = draws.next(target).spec;
    spec.path = Path::kAuto;
    spec.tile = {};
    const Plan base = unplanned(spec, target);
    std::vector<TunedEntry> entries;
    for (std::int64_t m = spec.shape.m_min; m <= std::min<std::int64_t>(spec.shape.m_max, 600);) {
      const MRange range{m, std::min<std::int64_t>(spec.shape.m_max, m + random() % 90)};
      const std::vector<Candidate> all = all_candidates(base, range);
      if (!all.empty())
        entries.push_back(measured_entry(spec, range, all[random() % all.size()].kernel));
      m = range.max + 1 + random() % 40;
    }
    const TunedTables tables = tables_of(target.name.c_str(), entries);
    const Plan plan = resolve(Spec::from_gemm(spec), target, tables);
    SCOPED_TRACE(plan.spec.canonical_json() + " for " + target.name);
    expect_cover(plan);
    EXPECT_EQ(plan_to_json(plan), plan_to_json(resolve(Spec::from_gemm(spec), target, tables)));
    for (const TunedEntry& entry : entries) {
      for (const std::int64_t m : {entry.m_first, entry.m_last}) {
        const PlannedKernel& kernel = plan.kernels[plan.kernel_for(m)];
        EXPECT_EQ(kernel.family->name(), entry.family);
        EXPECT_EQ(kernel_label(kernel), entry.kernel);
        ++used;
      }
    }
  }
  EXPECT_GT(used, 100);
}

}  // namespace
}  // namespace heddle
