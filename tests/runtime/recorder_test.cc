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
    EXPECT_EQ(error.problems()[0].message, "another version of records");
    EXPECT_EQ(error.problems()[1].pointer, "line 3: /op");
    EXPECT_EQ(error.problems()[2].pointer, "line 4");
  }
}

}  // namespace
}  // namespace heddle
