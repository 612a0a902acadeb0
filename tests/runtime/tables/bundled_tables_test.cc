#include "runtime/tables/bundled_tables.h"

#include <gtest/gtest.h>

#include "generator/tuned/format.h"
#include "heddle/error.h"
#include "tests/generator/tuned/tables.h"

namespace heddle {
namespace {

TunedTable table_of(const char* gpu, const std::vector<TunedEntry>& entries) {
  return TunedTable::from_entries(gpu, entries);
}

TunedTables tables_of(const std::vector<TunedTable>& tables) {
  TunedTables all;
  for (const TunedTable& table : tables) all.add(table);
  return all;
}

std::vector<std::string> texts_of(const TunedTables& tables) {
  std::vector<std::string> texts;
  for (const TunedTable& table : tables.tables()) texts.push_back(table.to_json());
  return texts;
}

TunedTables merged_over_shipped(const TunedTable& table) {
  TunedTables tables = TunedTables::shipped();
  tables.add(table);
  return tables;
}

class BundledTables : public ::testing::Test {
 protected:
  TunedTables read(const std::vector<LayerTables>& bundles) {
    return bundled_tables(bundles, &logger_);
  }

  std::vector<std::string> warnings_;
  Logger logger_{[this](LogLevel level, std::string_view text) {
    EXPECT_EQ(level, LogLevel::kWarning);
    warnings_.emplace_back(text);
  }};
};

TEST_F(BundledTables, TheShippedTableIsNotBundled) {
  EXPECT_TRUE(tables_to_bundle(TunedTables::shipped(), {"h100", "a100", "sm_80"}).tables().empty());
  EXPECT_TRUE(tables_to_bundle(TunedTables(), {"a100", "sm_80"}).tables().empty());
}

TEST_F(BundledTables, OnlyTheGpusThatHaveKernels) {
  const TunedTables in_use =
      tables_of({table_of("a100", {entry_for(1, 8)}), table_of("h200", {entry_for(1, 8)})});
  EXPECT_EQ(texts_of(tables_to_bundle(in_use, {"a100", "sm_80"})),
            texts_of(tables_of({table_of("a100", {entry_for(1, 8)})})));
}

// A process that has the bundle plans with the very tables that it was made with.
TEST_F(BundledTables, GiveBackWhatWasInUse) {
  const TunedTable own = table_of("h100", {entry_for(1, 8, "own")});
  for (const TunedTables& in_use :
       {TunedTables::shipped(), TunedTables(), tables_of({own}), merged_over_shipped(own)}) {
    const TunedTables bundled = tables_to_bundle(in_use, {"h100"});
    const TunedTables read_again = in_place_of_shipped(read({{"b.hdl", texts_of(bundled)}}));
    const Target target = target_from_name("h100");
    const TunedTable* const was = in_use.of(target);
    const TunedTable* const is = read_again.of(target);
    ASSERT_NE(is, nullptr);
    if (was == nullptr) {
      EXPECT_TRUE(is->entries().empty());
    } else {
      EXPECT_EQ(is->to_json(), was->to_json());
    }
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(BundledTables, TheEarlierBundleWins) {
  const LayerTables first{"1.hdl", {table_of("h200", {entry_for(1, 4, "first")}).to_json()}};
  const LayerTables second{"2.hdl",
                           {table_of("a100", {entry_for(1, 1, "second")}).to_json(),
                            table_of("h200", {entry_for(1, 8, "second")}).to_json()}};
  TunedTables expected = tables_of({table_of("a100", {entry_for(1, 1, "second")}),
                                    table_of("h200", {entry_for(1, 8, "second")})});
  expected.add(table_of("h200", {entry_for(1, 4, "first")}));
  EXPECT_EQ(texts_of(read({first, second})), texts_of(expected));
}

// Two models that were tuned each by itself, the second one for a shape that the shipped table has.
TEST_F(BundledTables, WhatIsOfTheShippedTableComesLast) {
  TunedEntry measured_again = TunedTables::shipped().tables().front().entries().front();
  measured_again.kernel = "second";
  TunedEntry new_shape = entry_for(1, 8, "first");
  new_shape.n = 12345 * 8;
  ASSERT_TRUE(TunedTables::shipped().tables().front().entries_for(gemm_of(new_shape)).empty());
  const TunedTables first = merged_over_shipped(table_of("h100", {new_shape}));
  const TunedTables second = merged_over_shipped(table_of("h100", {measured_again}));
  const LayerTables one{"1.hdl", texts_of(tables_to_bundle(first, {"h100"}))};
  const LayerTables two{"2.hdl", texts_of(tables_to_bundle(second, {"h100"}))};
  TunedTables both = second;
  both.add(table_of("h100", {new_shape}));
  EXPECT_EQ(texts_of(read({one, two})), texts_of(tables_to_bundle(both, {"h100"})));
  EXPECT_EQ(texts_of(read({two, one})), texts_of(tables_to_bundle(both, {"h100"})));
  // A bundle that was made without the shipped table says nothing of its shapes.
  const LayerTables alone{"3.hdl", {table_of("h100", {entry_for(1, 8, "third")}).to_json()}};
  TunedTables all = first;
  all.add(table_of("h100", {entry_for(1, 8, "third")}));
  EXPECT_EQ(texts_of(read({one, alone})), texts_of(all));
}

TunedTable with_costs(const char* gpu, const char* family, double times) {
  return TunedTable::from_entries(gpu, {}, {costs_for(family_named(family), times)});
}

// They decide as entries do: a table that has nothing else is bundled, and the earlier one wins.
TEST_F(BundledTables, CostsAreBundledLikeEntries) {
  const TunedTables in_use = merged_over_shipped(with_costs("h100", "stream", 2));
  const TunedTables bundled = tables_to_bundle(in_use, {"h100"});
  EXPECT_EQ(texts_of(bundled), texts_of(in_use));
  const TunedTables alone = tables_of({with_costs("h200", "tiles", 2)});
  EXPECT_EQ(texts_of(tables_to_bundle(alone, {"h200"})), texts_of(alone));
  const LayerTables first{"1.hdl", texts_of(alone)};
  const LayerTables second{"2.hdl",
                           {TunedTable::from_entries("h200", {entry_for(1, 8, "second")},
                                                     {costs_for(family_named("tiles"), 3),
                                                      costs_for(family_named("stream"), 3)})
                                .to_json()}};
  const TunedTables both = read({first, second});
  ASSERT_EQ(both.tables().size(), 1U);
  const TunedTable& table = both.tables().front();
  EXPECT_EQ(table.entries().size(), 1U);
  ASSERT_EQ(table.costs().size(), 2U);
  EXPECT_EQ(table.costs()[0].values, costs_for(family_named("stream"), 3).values);
  EXPECT_EQ(table.costs()[1].values, costs_for(family_named("tiles"), 2).values);
  EXPECT_TRUE(warnings_.empty());
}

// Never half: a bundle with one such table gives none, and the others are used.
TEST_F(BundledTables, WhatIsNotUnderstoodInFullIsNotUsed) {
  const std::string good = table_of("a100", {entry_for(1, 8)}).to_json();
  const std::string other = table_of("h200", {entry_for(1, 8)}).to_json();
  std::string other_version = good;
  other_version.replace(other_version.find(": 3,"), 4, ": 4,");
  std::string unknown_field = good;
  unknown_field.replace(unknown_field.find("\"us\""), 4, "\"ns\"");
  std::string unknown_gpu = good;
  unknown_gpu.replace(unknown_gpu.find("a100"), 4, "z900");
  const std::string two = table_of("a100", {entry_for(1, 4)}).to_json();
  for (const std::string& bad : {std::string("{"), std::string("\0", 1), other_version,
                                 unknown_field, unknown_gpu, good + " ", two}) {
    warnings_.clear();
    const TunedTables tables = read({{"bad.hdl", {good, bad}}, {"good.hdl", {other}}});
    EXPECT_EQ(texts_of(tables), std::vector<std::string>{other}) << bad;
    ASSERT_EQ(warnings_.size(), 1U) << bad;
    EXPECT_NE(warnings_[0].find("bad.hdl"), std::string::npos) << warnings_[0];
    EXPECT_THROW(parse_bundled_tables({good, bad}), Error);
  }
}

}  // namespace
}  // namespace heddle
