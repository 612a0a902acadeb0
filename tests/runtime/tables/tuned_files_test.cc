#include "runtime/tables/tuned_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "heddle/error.h"
#include "tests/generator/tuned/tables.h"
#include "tests/temporary_folder.h"

namespace heddle {
namespace {

const Environment kEmpty = [](const char*) { return nullptr; };

Environment with_variable(const std::string& value) {
  return [value](const char* name) {
    return std::string_view(name) == "HEDDLE_TUNED" ? value.c_str() : nullptr;
  };
}

TunedTables no_bundle() { return {}; }

std::string code_of(const std::string& list, std::string* what = nullptr) {
  try {
    TunedFiles(list, no_bundle, kEmpty).tables();
  } catch (const Error& error) {
    if (what != nullptr) *what = error.what();
    return error.code();
  }
  return "none";
}

// The texts of all tables.
std::string tables_text(const TunedTables& tables) {
  std::string text;
  for (const TunedTable& table : tables.tables()) text += table.to_json();
  return text;
}

class TunedFilesTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const char* gpu, const TunedEntry& entry) {
    return folder_.write(name, TunedTable::from_entries(gpu, {entry}).to_json());
  }

  TemporaryFolder folder_;
};

TEST_F(TunedFilesTest, WithoutAListThereAreTheShippedTables) {
  EXPECT_EQ(tables_text(TunedFiles("", no_bundle, kEmpty).tables()),
            tables_text(TunedTables::shipped()));
  EXPECT_EQ(tables_text(TunedFiles("", no_bundle, with_variable("")).tables()),
            tables_text(TunedTables::shipped()));
}

TEST_F(TunedFilesTest, NoneLeavesTheShippedTablesOut) {
  EXPECT_TRUE(TunedFiles("none", no_bundle, kEmpty).tables().tables().empty());
  EXPECT_TRUE(TunedFiles("", no_bundle, with_variable("none")).tables().tables().empty());
  const std::string file = write("a.json", "h200", entry_for(1, 8));
  EXPECT_EQ(TunedFiles("none:" + file, no_bundle, kEmpty).tables().tables().size(), 1U);
}

TEST_F(TunedFilesTest, FilesAreMergedOverTheShippedTablesTheLaterWins) {
  const std::string list = write("a.json", "h100", entry_for(1, 8, "a")) + ":" +
                           write("b.json", "h100", entry_for(5, 8, "b")) + ":" +
                           write("c.json", "a100", entry_for(1, 1, "c"));
  TunedTables expected = TunedTables::shipped();
  for (const auto& [gpu, first, last, kernel] :
       {std::tuple{"h100", 1, 8, "a"}, {"h100", 5, 8, "b"}, {"a100", 1, 1, "c"}}) {
    expected.add(TunedTable::from_entries(gpu, {entry_for(first, last, kernel)}));
  }
  EXPECT_EQ(tables_text(TunedFiles(list, no_bundle, kEmpty).tables()), tables_text(expected));
}

// Named files, then bundles, then the shipped table; that of a bundle is a whole one.
TEST_F(TunedFilesTest, FilesGoBeforeBundlesAndTheseBeforeTheShippedTables) {
  const auto bundled = [] {
    TunedTables tables;
    tables.add(TunedTable::from_entries("h100", {entry_for(1, 8, "bundled")}));
    return tables;
  };
  ASSERT_FALSE(TunedTables::shipped().tables().empty());
  ASSERT_EQ(TunedTables::shipped().tables().front().gpu(), "h100");
  EXPECT_EQ(tables_text(TunedFiles("", bundled, kEmpty).tables()), tables_text(bundled()))
      << "in place of the shipped table, not merged over it";
  const std::string list = write("a.json", "h100", entry_for(5, 8, "named")) + ":" +
                           write("b.json", "h200", entry_for(1, 1, "other"));
  TunedTables expected = bundled();
  expected.add(TunedTable::from_entries("h100", {entry_for(5, 8, "named")}));
  expected.add(TunedTable::from_entries("h200", {entry_for(1, 1, "other")}));
  EXPECT_EQ(tables_text(TunedFiles(list, bundled, kEmpty).tables()), tables_text(expected));
}

TEST_F(TunedFilesTest, WhoAsksForNoTablesGetsNone) {
  const auto never = []() -> TunedTables {
    ADD_FAILURE() << "bundles are not asked";
    return TunedTables::shipped();
  };
  EXPECT_TRUE(TunedFiles("none", never, kEmpty).tables().tables().empty());
  const std::string file = write("a.json", "h200", entry_for(1, 8));
  EXPECT_EQ(TunedFiles("none:" + file, never, kEmpty).tables().tables().size(), 1U);
}

TEST_F(TunedFilesTest, BundlesAreAskedOnceAlsoAfterAFailure) {
  int asked = 0;
  const auto bundled = [&] {
    ++asked;
    return TunedTables();
  };
  TunedFiles files((folder_.path() / "late.json").string(), bundled, kEmpty);
  EXPECT_THROW(files.tables(), Error);
  write("late.json", "h200", entry_for(1, 8));
  files.tables();
  files.tables();
  EXPECT_EQ(asked, 1);
}

TEST_F(TunedFilesTest, TheArgumentGoesBeforeTheEnvironment) {
  const std::string file = write("a.json", "h200", entry_for(1, 8));
  EXPECT_TRUE(TunedFiles("none", no_bundle, with_variable(file)).tables().tables().empty());
  EXPECT_EQ(tables_text(TunedFiles("none:" + file, no_bundle, with_variable("none")).tables()),
            tables_text(TunedFiles("", no_bundle, with_variable("none:" + file)).tables()));
}

TEST_F(TunedFilesTest, AFileThatCannotBeReadIsNamed) {
  for (const std::string& name : {std::string("/nowhere/a.json"), folder_.path().string()}) {
    std::string what;
    EXPECT_EQ(code_of(name, &what), "tuned.unreadable");
    EXPECT_NE(what.find(name), std::string::npos) << what;
  }
}

TEST_F(TunedFilesTest, AFileThatIsNoTableIsNamedWithThePlace) {
  const std::string good = write("good.json", "h100", entry_for(1, 8));
  const std::string bad = folder_.write("bad.json", table_json(entry_json("4096", "\"4096\"")));
  std::string what;
  EXPECT_EQ(code_of(good + ":" + bad, &what), "tuned.wrong_type");
  EXPECT_NE(what.find(bad + ": /entries/0/n: "), std::string::npos) << what;
  EXPECT_EQ(code_of(folder_.write("no.json", "{"), &what), "tuned.syntax");
  EXPECT_NE(what.find("no.json"), std::string::npos) << what;
}

TEST_F(TunedFilesTest, ListsWithEmptyNamesAreRefused) {
  for (const char* list : {":", "a:", ":a", "a::b", "none:"}) {
    EXPECT_EQ(code_of(list), "tuned.list") << list;
  }
}

TEST_F(TunedFilesTest, TheFilesAreReadOnce) {
  const std::string file = write("a.json", "h200", entry_for(1, 8, "first"));
  TunedFiles files("none:" + file, no_bundle, kEmpty);
  const std::string before = tables_text(files.tables());
  write("a.json", "h200", entry_for(1, 8, "second"));
  EXPECT_EQ(tables_text(files.tables()), before);
  try {
    files.replace("none");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "tuned.in_use");
  }
}

TEST_F(TunedFilesTest, AfterAFailureTheListMayBeReplacedOrTheFileMended) {
  TunedFiles files("none:" + (folder_.path() / "late.json").string(), no_bundle, kEmpty);
  EXPECT_THROW(files.tables(), Error);
  write("late.json", "h200", entry_for(1, 8));
  EXPECT_EQ(files.tables().tables().size(), 1U);
  TunedFiles replaced("/nowhere", no_bundle, kEmpty);
  EXPECT_THROW(replaced.tables(), Error);
  replaced.replace("none");
  EXPECT_TRUE(replaced.tables().tables().empty());
}

TEST_F(TunedFilesTest, ALaterChangeOfFolderReadsNoOtherFile) {
  write("a.json", "h200", entry_for(1, 8));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  TunedFiles files("none:a.json", no_bundle, kEmpty);
  std::filesystem::current_path(before);
  EXPECT_EQ(files.tables().tables().size(), 1U);
}

}  // namespace
}  // namespace heddle
