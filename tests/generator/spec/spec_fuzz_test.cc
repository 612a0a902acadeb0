// Seeded damage to good documents: an error or a spec, never a crash; the same text, the same end.
#include <filesystem>
#include <random>

#include "tests/generator/spec/spec_helpers.h"

namespace heddle {
namespace {

std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t end) { return random() % end; };
  const std::size_t changes = 1 + below(4);
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = below(text.size());
    const std::size_t size = below(12);
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, size);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), size));
        break;
      case 3:
        text.insert(at, std::string(size, "{[\"0-,:e\\"[below(9)]));
        break;
      default:
        text[at] = "{}[]\",:0123456789.-+eE\\untrfalsm \n"[below(33)];
        break;
    }
  }
  return text;
}

std::string outcome(const std::string& text) {
  try {
    return Spec::parse(text).canonical_json();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kSpec);
    EXPECT_FALSE(error.problems().empty());
    return error.what();
  }
}

TEST(SpecFuzz, DamagedDocumentsNeverCrash) {
  std::mt19937 random(7);
  int documents = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_EXAMPLE_SPECS)) {
    const std::string good = file_text(entry.path());
    for (int i = 0; i < 500; ++i, ++documents) {
      const std::string text = damaged(good, random);
      const std::string first = outcome(text);
      ASSERT_FALSE(first.empty());
      ASSERT_EQ(first, outcome(text));
    }
  }
  EXPECT_GE(documents, 2500);
}

TEST(SpecFuzz, GarbageIsAnError) {
  std::mt19937 random(11);
  std::string garbage(std::size_t{10} << 20, '\0');
  for (char& c : garbage) c = static_cast<char>(random());
  EXPECT_EQ(parse_error(garbage).code(), "spec.too_large");
  garbage.resize(std::size_t{1} << 20);
  EXPECT_EQ(parse_error(garbage).code(), "spec.syntax");
}

// The largest documents of the worst kinds are read in linear time or thereabouts.
TEST(SpecFuzz, WideDocuments) {
  std::string same = "{\"op\":\"gemm\",\"a\":1";
  std::string different = same;
  for (int i = 0; i < 80000; ++i) {
    same += ",\"a\":1";
    different += ",\"b" + std::to_string(i) + "\":1";
  }
  EXPECT_EQ(parse_error(same + "}").problems().at(0).message, "the field is given more than once");
  EXPECT_EQ(parse_error(different + "}").problems().at(0).message, "the field is unknown");
}

}  // namespace
}  // namespace heddle
