// Tables as values: their text, and how they merge.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "generator/families/registry.h"
#include "generator/tuned/embedded.h"
#include "generator/tuned/format.h"
#include "tests/byte_gemm.h"
#include "tests/generator/tuned/tables.h"

namespace heddle {
namespace {

TunedTable table_of(const std::vector<TunedEntry>& entries) {
  return TunedTable::from_entries("h100", entries);
}

// "1-2 a, 3-8 b"
std::string ranges_of(const TunedTable& table) {
  std::string text;
  for (const TunedEntry& entry : table.entries()) {
    text += fmt::format("{}{}-{} {}", text.empty() ? "" : ", ", entry.m_first, entry.m_last,
                        entry.kernel);
  }
  return text;
}

std::string merged(const std::vector<TunedEntry>& first, const std::vector<TunedEntry>& later) {
  TunedTable table = table_of(first);
  table.merge(table_of(later));
  EXPECT_EQ(TunedTable::parse(table.to_json()).to_json(), table.to_json());
  return ranges_of(table);
}

TEST(TunedTable, TheTextOfATextIsTheSame) {
  TunedEntry other = entry_for(3, 8, "a \"quoted\" label");
  other.from = "heddle tune";
  other.us = 12.125;
  other.family = "tiles";
  TunedEntry old = entry_for(20, 30);
  old.family_version = 7;
  const TunedTable table = table_of({other, entry_for(1, 2), old});
  const std::string text = table.to_json();
  EXPECT_EQ(TunedTable::parse(text).to_json(), text);
  const TunedTable read = TunedTable::parse(text);
  EXPECT_EQ(ranges_of(read), "1-2 any, 3-8 a \"quoted\" label, 20-30 any");
  EXPECT_EQ(read.entries()[0].family_version, 1);
  EXPECT_EQ(read.entries()[1].us, 12.125);
  EXPECT_EQ(read.entries()[1].from, "heddle tune");
  EXPECT_EQ(read.entries()[2].family_version, 7);
}

TEST(TunedTable, TheOrderOfEntriesMakesNoOtherText) {
  TunedEntry other = entry_for(1, 2);
  other.n = 8192;
  EXPECT_EQ(table_of({other, entry_for(3, 3), entry_for(1, 1)}).to_json(),
            table_of({entry_for(1, 1), other, entry_for(3, 3)}).to_json());
}

TEST(TunedTable, AnEmptyOneHasAText) {
  const std::string text = table_of({}).to_json();
  EXPECT_EQ(TunedTable::parse(text).to_json(), text);
}

TEST(TunedTable, TheLaterWinsWhereBothHaveAnM) {
  EXPECT_EQ(merged({entry_for(1, 8, "a")}, {entry_for(1, 8, "b")}), "1-8 b");
  EXPECT_EQ(merged({entry_for(1, 8, "a")}, {entry_for(9, 16, "b")}), "1-8 a, 9-16 b");
  EXPECT_EQ(merged({entry_for(1, 8, "a")}, {entry_for(5, 16, "b")}), "1-4 a, 5-16 b");
  EXPECT_EQ(merged({entry_for(5, 16, "a")}, {entry_for(1, 8, "b")}), "1-8 b, 9-16 a");
  EXPECT_EQ(merged({entry_for(1, 16, "a")}, {entry_for(4, 5, "b"), entry_for(9, 9, "c")}),
            "1-3 a, 4-5 b, 6-8 a, 9-9 c, 10-16 a");
  EXPECT_EQ(merged({entry_for(4, 5, "a"), entry_for(9, 9, "c")}, {entry_for(1, 16, "b")}),
            "1-16 b");
  EXPECT_EQ(merged({}, {entry_for(1, 1, "b")}), "1-1 b");
  EXPECT_EQ(merged({entry_for(1, 1, "a")}, {}), "1-1 a");
}

TEST(TunedTable, OtherFormatsAndShapesAreLeftAlone) {
  TunedEntry format = entry_for(1, 8, "a");
  format.weight.bits = 3;
  TunedEntry shape = entry_for(1, 8, "b");
  shape.k = 8192;
  TunedTable table = table_of({format, shape});
  table.merge(table_of({entry_for(1, 8, "c")}));
  EXPECT_EQ(table.entries().size(), 3U);
}

// The time is that of the last M.
TEST(TunedTable, ARangeThatLosesItsLastMLosesItsTime) {
  TunedTable table = table_of({entry_for(1, 16, "a")});
  table.merge(table_of({entry_for(8, 8, "b")}));
  ASSERT_EQ(table.entries().size(), 3U);
  EXPECT_EQ(table.entries()[0].us, 0);
  EXPECT_EQ(table.entries()[1].us, 5.5);
  EXPECT_EQ(table.entries()[2].us, 5.5);
}

TEST(TunedTable, EntriesKeepTheVersionThatTheyWereMeasuredWith) {
  TunedEntry old = entry_for(1, 8, "a");
  TunedEntry later = entry_for(9, 16, "b");
  later.family_version = 2;
  TunedTable table = table_of({old});
  table.merge(table_of({later}));
  const TunedTable read = TunedTable::parse(table.to_json());
  EXPECT_EQ(read.entries()[0].family_version, 1);
  EXPECT_EQ(read.entries()[1].family_version, 2);
}

TEST(TunedTable, CostsComeBack) {
  const std::string plain = table_of({entry_for(1, 2)}).to_json();
  EXPECT_NE(plain.find("\"heddle_tuned\": 3,"), plain.npos);
  EXPECT_EQ(plain.find("costs"), plain.npos);
  const TunedTable table = TunedTable::from_entries(
      "h100", {entry_for(1, 2)},
      {costs_for(family_named("tiles"), 1.25), costs_for(family_named("stream"), 0.9)});
  const std::string text = table.to_json();
  const TunedTable read = TunedTable::parse(text);
  EXPECT_EQ(read.to_json(), text);
  ASSERT_EQ(read.costs().size(), 2U);
  EXPECT_EQ(read.costs()[0].family, "stream");
  EXPECT_EQ(read.costs()[1].family, "tiles");
  EXPECT_EQ(read.costs()[1].values, costs_for(family_named("tiles"), 1.25).values);
  EXPECT_EQ(ranges_of(read), "1-2 any");
}

TunedEntry byte_entry(std::int64_t m_first, std::int64_t m_last, std::string kernel) {
  TunedEntry entry = entry_for(m_first, m_last, std::move(kernel));
  const GemmSpec gemm = byte_gemm(entry.n, entry.k, DType::kFp8E4m3);
  entry.weight = gemm.weight;
  entry.activation = gemm.activation;
  entry.activation_scale = gemm.activation_scale;
  entry.family = "warpgroup";
  return entry;
}

TEST(TunedTable, ActivationsOfEightBitsComeBack) {
  TunedEntry fast = byte_entry(1, 8, "a");
  fast.accumulation = Accumulation::kFast;
  TunedEntry int8 = byte_entry(1, 8, "b");
  int8.activation = DType::kInt8;
  int8.activation_scale.symmetric = false;
  int8.weight.type = WeightType::kInt;
  TunedEntry blocks = byte_entry(1, 8, "c");
  blocks.weight.group_size = blocks.weight.group_rows = kBlockRows;
  blocks.activation_scale = {RowGranularity::kGroup, true, RowScaleDtype::kE8m0};
  TunedEntry levels = byte_entry(1, 8, "e");
  levels.activation = DType::kInt8;
  levels.weight = two_level_gemm(levels.n, levels.k).weight;
  const TunedTable table = table_of({entry_for(1, 8, "d"), fast, int8, blocks, levels});
  const std::string text = table.to_json();
  for (const char* part : {R"({"dtype":"fp8_e4m3","granularity":"token"},"accumulation":"fast",)",
                           R"({"dtype":"int8","granularity":"token","symmetric":false},"n")",
                           R"({"dtype":"fp8_e4m3","granularity":"group","scale_dtype":"e8m0"},"n")",
                           R"({"dtype":"fp16"},"n")"}) {
    EXPECT_NE(text.find(part), text.npos) << part;
  }
  const TunedTable read = TunedTable::parse(text);
  EXPECT_EQ(read.to_json(), text);
  const auto kernel_of = [&](const TunedEntry& entry) {
    GemmSpec gemm = gemm_of(entry);
    gemm.weight.interleave = Interleave::kFragment;  // what stands for their own
    const std::vector<TunedEntry> found = read.entries_for(gemm);
    return found.size() == 1 ? found.front().kernel : "none";
  };
  EXPECT_EQ(kernel_of(fast), "a");
  EXPECT_EQ(kernel_of(int8), "b");
  EXPECT_EQ(kernel_of(blocks), "c");
  EXPECT_EQ(kernel_of(levels), "e");
  levels.weight = four_bit_gemm(levels.n, levels.k, DType::kInt8).weight;
  EXPECT_EQ(kernel_of(levels), "none") << "one level of scales";
  EXPECT_EQ(kernel_of(byte_entry(1, 8, "")), "none") << "no promoted sums were measured";
}

// An interleave that means the same is no other format.
TEST(TunedTable, EntriesOfEightBitsMergeWithTheirOwnFormat) {
  TunedEntry fragment = byte_entry(5, 8, "b");
  fragment.weight.interleave = Interleave::kFragment;
  TunedEntry tensor = byte_entry(1, 8, "c");
  tensor.activation_scale.granularity = RowGranularity::kTensor;
  TunedTable table = table_of({byte_entry(1, 8, "a"), tensor});
  table.merge(table_of({fragment}));
  EXPECT_EQ(ranges_of(table), "1-8 c, 1-4 a, 5-8 b");
}

TEST(TunedTable, MergingReplacesTheCostsOfAFamilyAndKeepsEntries) {
  const GemmFamily& stream = family_named("stream");
  const GemmFamily& tiles = family_named("tiles");
  TunedTable table = TunedTable::from_entries("h100", {entry_for(1, 8, "a")},
                                              {costs_for(stream, 0.5), costs_for(tiles, 0.5)});
  table.merge(TunedTable::from_entries("h100", {}, {costs_for(tiles, 2)}));
  table.merge(TunedTable::from_entries("h100", {entry_for(9, 9, "b")}));
  EXPECT_EQ(ranges_of(table), "1-8 a, 9-9 b");
  ASSERT_EQ(table.costs().size(), 2U);
  EXPECT_EQ(table.costs()[0].values, costs_for(stream, 0.5).values);
  EXPECT_EQ(table.costs()[1].values, costs_for(tiles, 2).values);
  EXPECT_EQ(TunedTable::parse(table.to_json()).to_json(), table.to_json());
  TunedTable empty = table_of({});
  empty.merge(table);
  EXPECT_EQ(empty.to_json(), table.to_json());
}

TEST(TunedTable, TablesOfTwoGpusDoNotMerge) {
  TunedTable table = table_of({});
  try {
    table.merge(TunedTable::from_entries("h200", {}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "tuned.other_gpu");
  }
}

// Every M has what the last of the tables says of it, whatever the tables are.
TEST(TunedTable, MergingIsByM) {
  std::mt19937 random(3);
  for (int draw = 0; draw < 200; ++draw) {
    constexpr std::int64_t kMost = 24;
    std::vector<std::string> expected(kMost + 1);
    TunedTable table = table_of({});
    for (int i = 0; i < 4; ++i) {
      std::vector<TunedEntry> entries;
      for (std::int64_t m = 1 + random() % 5; m <= kMost;) {
        const std::int64_t last = std::min<std::int64_t>(kMost, m + random() % 6);
        entries.push_back(entry_for(m, last, fmt::format("{}.{}", i, entries.size())));
        for (std::int64_t one = m; one <= last; ++one) expected[one] = entries.back().kernel;
        m = last + 1 + random() % 4;
      }
      table.merge(table_of(entries));
    }
    std::vector<std::string> found(kMost + 1);
    for (const TunedEntry& entry : table.entries()) {
      for (std::int64_t m = entry.m_first; m <= entry.m_last; ++m) {
        EXPECT_EQ(found[m], "");
        found[m] = entry.kernel;
      }
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(TunedTable::parse(table.to_json()).to_json(), table.to_json());
  }
}

TEST(TunedTable, EntriesForAGemmAreThoseOfItsFormatShapeAndM) {
  TunedEntry format = entry_for(1, 8, "a");
  format.activation = DType::kBf16;
  TunedEntry shape = entry_for(1, 8, "b");
  shape.n = 8192;
  const TunedTable table =
      table_of({format, shape, entry_for(1, 2, "c"), entry_for(3, 8, "d"), entry_for(9, 20, "e")});
  GemmSpec gemm;
  gemm.shape = {4096, 4096, 3, 10};
  gemm.epilogue.bias = true;
  gemm.act_order = true;
  const std::vector<TunedEntry> found = table.entries_for(gemm);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kernel, "d");
  EXPECT_EQ(found[1].kernel, "e");
}

TEST(TunedTables, HaveOneTableForEachGpu) {
  TunedTables tables;
  tables.add(table_of({entry_for(1, 8, "a")}));
  tables.add(TunedTable::from_entries("a100", {entry_for(1, 8, "x")}));
  tables.add(table_of({entry_for(8, 8, "b")}));
  ASSERT_EQ(tables.tables().size(), 2U);
  EXPECT_EQ(tables.tables()[0].gpu(), "a100");
  EXPECT_EQ(ranges_of(tables.tables()[1]), "1-7 a, 8-8 b");
}

TEST(TunedTables, AreFoundByTheNameOfTheTargetOrOfTheDriver) {
  TunedTables tables;
  tables.add(table_of({}));
  Target target = target_from_name("h100");
  EXPECT_EQ(tables.of(target), &tables.tables()[0]);
  target.name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(tables.of(target), &tables.tables()[0]);
  for (const char* other : {"h100-pcie", "h200", "sm_90", "a100"}) {
    EXPECT_EQ(tables.of(target_from_name(other)), nullptr) << other;
  }
  target.name = "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
  EXPECT_EQ(tables.of(target), nullptr);
}

TEST(TunedTables, ShippedFilesAreNamedAfterTheirGpuAndCanonical) {
  EXPECT_FALSE(embedded_tuned_tables().empty());
  EXPECT_EQ(TunedTables::shipped().tables().size(), embedded_tuned_tables().size());
  for (const auto& [name, text] : embedded_tuned_tables()) {
    const TunedTable table = TunedTable::parse(text);
    EXPECT_EQ(name, table.gpu() + ".json");
    EXPECT_EQ(text, table.to_json()) << name;
  }
}

TEST(TunedTables, VersionsAreThoseOfTheGemmFamilies) {
  for (const GemmFamily* family : gemm_families()) {
    EXPECT_EQ(tuned_family_versions().at(std::string(family->name())), family->version());
    EXPECT_EQ(tuned_cost_versions().at(std::string(family->name())), family->cost_version());
  }
}

}  // namespace
}  // namespace heddle
