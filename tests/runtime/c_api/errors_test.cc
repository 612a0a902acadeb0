// What the errors of the C API tell, and to whom.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using testing::kGemmText;
using testing::made;
using testing::plan_from;

constexpr std::string_view kTwoProblems =
    R"({"heddle":1,"op":"gemm","shape":{"n":256,"k":512},)"
    R"("weight":{"bits":9,"group_sise":64},"activation":{"dtype":"fp16"}})";

// The JSON has what C++ throws.
TEST(CApiErrors, TellEveryProblem) {
  heddle_spec* spec = nullptr;
  ASSERT_EQ(heddle_spec_create(HEDDLE_TEXT(kTwoProblems), &spec), HEDDLE_ERROR_SPEC);
  const auto told = nlohmann::json::parse(heddle_error_json());
  try {
    Spec::parse(kTwoProblems);
    FAIL();
  } catch (const Error& same) {
    testing::expect_rows({{"status", told.at("status"), "spec"},
                          {"code", told.at("code"), same.code()},
                          {"code alone", heddle_error_code(), same.code()},
                          {"message", told.at("message"), same.what()},
                          {"message alone", heddle_error_message(), same.what()},
                          {"log", told.at("log"), same.log()},
                          {"problems", told.at("problems").size(), same.problems().size()}});
    ASSERT_EQ(same.problems().size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      const nlohmann::json& one = told.at("problems")[i];
      const Problem& problem = same.problems()[i];
      testing::expect_rows({{"pointer", one.value("pointer", ""), problem.pointer},
                            {"message", one.at("message"), problem.message},
                            {"value", one.value("value", ""), problem.value},
                            {"allowed", one.value("allowed", ""), problem.allowed},
                            {"hint", one.value("hint", ""), problem.hint}});
    }
  }
  ASSERT_EQ(heddle_spec_schema(nullptr), HEDDLE_ERROR_USAGE);
  EXPECT_EQ(nlohmann::json::parse(heddle_error_json()).at("code"), "api.null");
}

TEST(CApiErrors, BelongToTheirThread) {
  heddle_spec* spec = nullptr;
  ASSERT_EQ(heddle_spec_create("{}", 2, &spec), HEDDLE_ERROR_SPEC);
  const std::string before = heddle_error_message();
  std::thread([] {
    EXPECT_STREQ(heddle_error_message(), "") << "no call of this thread has failed";
    EXPECT_EQ(nlohmann::json::parse(heddle_error_json()).at("problems").size(), 0U);
    EXPECT_STREQ(heddle_error_log(), "");
    EXPECT_EQ(heddle_spec_schema(nullptr), HEDDLE_ERROR_USAGE);
    EXPECT_STREQ(heddle_error_code(), "api.null");
  }).join();
  EXPECT_EQ(before, heddle_error_message());
}

TEST(CApiErrors, StatusesHaveNames) {
  EXPECT_STREQ(heddle_status_name(HEDDLE_OK), "ok");
  EXPECT_STREQ(heddle_status_name(HEDDLE_ERROR_DRIVER), "driver");
  EXPECT_STREQ(heddle_status_name(HEDDLE_ERROR_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(heddle_status_name(-1), "unknown");
  EXPECT_STREQ(heddle_status_name(999), "unknown");
  EXPECT_GT(std::strlen(heddle_version()), 0U);
}

// Texts are made once, for whichever threads ask.
TEST(CApiHandles, MayBeAskedByThreads) {
  const auto plan = plan_from(kGemmText);
  std::vector<const char*> seen(4);
  std::vector<std::thread> threads;
  for (const char*& one : seen) {
    threads.emplace_back([&] {
      heddle_text json = {};
      heddle_plan_source_info source = {};
      source.struct_size = sizeof source;
      EXPECT_EQ(heddle_plan_json(plan.get(), &json), HEDDLE_OK);
      EXPECT_EQ(heddle_plan_source(plan.get(), 0, &source), HEDDLE_OK);
      one = json.data;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* one : seen) EXPECT_EQ(one, seen[0]);
}

}  // namespace
}  // namespace heddle
