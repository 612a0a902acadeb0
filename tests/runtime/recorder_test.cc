#include "runtime/recorder.h"

#include <gtest/gtest.h>

#include "heddle/error.h"

namespace heddle {
namespace {

std::string line_of(std::int64_t n) {
  GemmSpec spec;
  spec.shape = {n, 512, 1, 8};
  return record_line(Spec::from_gemm(spec), target_from_name("h200")) + '\n';
}

TEST(Recorder, LinesAreReadAsTheyWereWritten) {
  const std::string text = line_of(256) + "\n" + line_of(512) + line_of(256);
  EXPECT_TRUE(is_record(text));
  EXPECT_FALSE(is_record("[" + text + "]"));
  const std::vector<RecordedSpec> specs = parse_record(text);
  ASSERT_EQ(specs.size(), 2U) << "the third says what the first does";
  EXPECT_EQ(specs[0].spec.gemm().shape.n, 256);
  EXPECT_EQ(specs[1].spec.gemm().shape.n, 512);
  EXPECT_EQ(specs[1].target.arch(), 90);
}

TEST(Recorder, EveryProblemIsToldWithItsLine) {
  std::string other = line_of(512);
  other.replace(other.find(":1"), 2, ":9");
  std::string unknown = line_of(1024);
  unknown.replace(unknown.find("\"gemm\""), 6, "\"gem\"");
  const std::string cut = line_of(2048).substr(0, 40) + '\n';
  try {
    parse_record(line_of(256) + other + unknown + cut);
    ADD_FAILURE() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "record.malformed");
    ASSERT_EQ(error.problems().size(), 3U) << error.what();
    EXPECT_EQ(error.problems()[0].pointer, "line 2");
    EXPECT_EQ(error.problems()[0].message, "no line of a record of this version");
    EXPECT_EQ(error.problems()[1].pointer, "line 3: /spec/op");
    EXPECT_EQ(error.problems()[2].pointer, "line 4: /spec");
  }
}

// What is wrong with a line of a record in which `from` is replaced.
std::string fault_of(const std::string& from, const std::string& to) {
  std::string line = line_of(256);
  line.replace(line.find(from), from.size(), to);
  try {
    parse_record(line);
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kSpec);
    EXPECT_EQ(error.code(), "record.malformed");
    return error.what();
  }
}

TEST(Recorder, FactsThatNoGpuHasAreRefusedAndNotCut) {
  const std::string sms = "\"sm_count\":132";
  EXPECT_EQ(fault_of(sms, "\"sm_count\":1"), "accepted");
  EXPECT_EQ(fault_of(sms, "\"sm_count\":132.0"), "accepted") << "the same number in JSON";
  for (const char* value : {"0", "-1", "1.9", "4294967297", "1e30", "\"132\"", "null", "[132]"}) {
    const std::string fault = fault_of(sms, std::string("\"sm_count\":") + value);
    EXPECT_NE(fault.find("line 1: /target/sm_count: "), std::string::npos) << fault;
    EXPECT_NE(fault.find("an integer from 1 to 4096"), std::string::npos) << fault;
  }
  const std::string rate = "\"memory_gb_per_s\":4800.0";
  EXPECT_EQ(fault_of(rate, "\"memory_gb_per_s\":4800.5"), "accepted");
  EXPECT_NE(fault_of(rate, "\"memory_gb_per_s\":-1").find("/target/memory_gb_per_s"),
            std::string::npos);
  EXPECT_NE(fault_of("\"shared_per_sm\":233472", "\"shared_per_sm\":65536")
                .find("/target/shared_per_block"),
            std::string::npos);
}

TEST(Recorder, WhatIsNotUnderstoodIsNamed) {
  const std::string sms = "\"sm_count\":132";
  EXPECT_NE(fault_of(sms + ",", "").find("/target/sm_count"), std::string::npos);
  EXPECT_NE(fault_of(sms, sms + ",\"clock\":7").find("/target/clock: the field is unknown"),
            std::string::npos);
  EXPECT_NE(fault_of(sms, sms + "," + sms).find("/target/sm_count: the field is given more than"),
            std::string::npos);
  EXPECT_NE(fault_of("\"target\":", "\"more\":1,\"target\":").find("/more"), std::string::npos);
  EXPECT_NE(fault_of("\"target\":", "\"tarmac\":").find("/target: the field is required"),
            std::string::npos);
  EXPECT_NE(fault_of("\"bits\":4", "\"bits\":4,\"bits\":4").find("/spec/weight/bits"),
            std::string::npos);
  EXPECT_NE(fault_of("}\n", std::string("}\0 garbage\n", 11)).find("a NUL byte"),
            std::string::npos);
}

TEST(Recorder, ManyProblemsAreCounted) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "{\"heddle_record\":1,\"a\":" + std::to_string(i) + "}\n";
  try {
    parse_record(text);
    ADD_FAILURE() << "no exception";
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 10000U);
    EXPECT_NE(std::string(error.what()).find("and 59950 more problems"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace heddle
