// Patterns of modules: what they match, as Python does it, and what they may cost.
#include "generator/model/module_pattern.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "generator/model/config_documents.h"
#include "generator/model/module_rules.h"
#include "generator/model/regex_program.h"
#include "heddle/error.h"
#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

using Kind = ModulePattern::Kind;

TEST(ModulePattern, Globs) {
  EXPECT_TRUE(matches_glob("model.layers.*.mlp", "model.layers.12.mlp"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("*proj", "a.b.q_proj"));
  EXPECT_FALSE(matches_glob("*proj", "a.b.q_proj.weight"));
  EXPECT_TRUE(matches_glob("layers.?.x", "layers.1.x"));
  EXPECT_FALSE(matches_glob("layers.?.x", "layers.12.x"));
  EXPECT_TRUE(matches_glob("l[0-3][!0]", "l21"));
  EXPECT_FALSE(matches_glob("l[0-3][!0]", "l20"));
  EXPECT_TRUE(matches_glob("a[b", "a[b"));
  EXPECT_TRUE(matches_glob("[]]", "]"));
  EXPECT_FALSE(matches_glob("a", ""));
  // Backtracking over every star would take longer than a test may.
  EXPECT_FALSE(matches_glob(std::string(200, '*') + "b" + std::string(200, '*') + "c",
                            std::string(20000, 'b')));
}

struct RegexCase {
  const char* pattern;
  const char* name;
  bool at_start;  // as Python 3.11's re.match says
  bool anywhere;  // as its re.search says
};

constexpr RegexCase kRegexCases[] = {
    {"model.*(q|k)_proj", "model.layers.0.q_proj.x", true, true},
    {"model.*(q|k)_proj", "a.model.layers.0.q_proj", false, true},
    {"q_proj$", "a.q_proj", false, true},
    {"q_proj$", "q_proj.a", false, false},
    {"^a", "ba", false, false},
    {"\\Aa.b\\Z", "a.b", true, true},
    {"\\Aa.b\\Z", "a.bc", false, false},
    {"", "", true, true},
    {"a||b", "", true, true},
    {"()", "x", true, true},
    {"(|a)+b", "aab", true, true},
    {"(a*)*b", "aac", false, false},
    {"(?:ab){2,3}$", "ababab", true, true},
    {"(?:ab){2,3}$", "ab", false, false},
    {"(?:ab){2,3}$", "abababab", false, true},
    {"^(?:ab){2,}?$", "ababababab", true, true},
    {"^x{,2}$", "xx", true, true},
    {"^x{,2}$", "xxx", false, false},
    {"^x{0}y", "y", true, true},
    {"^x{0}y", "xy", false, false},
    {"layers\\.(1[0-9]|2[0-3])\\.", "layers.17.mlp", true, true},
    {"layers\\.(1[0-9]|2[0-3])\\.", "layers.24.mlp", false, false},
    {"[]a]b", "]b", true, true},
    {"[^]a]b", "]b", false, false},
    {"[\\w-]+$", "a-b", true, true},
    {"[a\\-z]+$", "b", false, false},
    {"[\\d.]+\\D", "1.2x", true, true},
    {"\\x61\\.b", "a.b", true, true},
    {"\\x61\\.b", "aXb", false, false},
    {".", "\n", false, false},
    {"}", "}", true, true},
    {"]", "]", true, true},
    // One character, whatever its bytes in UTF-8 are.
    {"^a.b$",
     "a\xc3\xa9"
     "b",
     true, true},
    {"^[^x]$", "\xe2\x82\xac", true, true},
    {"^[a-z]$", "\xc3\xa9", false, false},
    {"\\bq\\b", "a.q.b", false, true},
    {"\\bq\\b", "a.q1.b", false, false},
    {"a\\Bb", "ab", true, true},
    {"a\\B", "a", false, false},
    {"(?!.*shared).*experts", "a.experts", true, true},
    {"(?!.*shared).*experts", "a.shared_experts", false, true},
    {"^(?!.*shared).*experts", "a.shared_experts", false, false},
    {"^(?=.*mlp)(?!.*gate$).*proj", "a.mlp.up_proj", true, true},
    {"^(?=.*mlp)(?!.*gate$).*proj", "a.attn.o_proj", false, false},
    {"^(?:(?!gate).)*$", "a.mlp.up", true, true},
    {"^(?:(?!gate).)*$", "a.mlp.gate_up", false, false},
    {"(?=^a).b", "ab", true, true},
    {"x(?=\\b)", "x.y", true, true},
    {"x(?=\\b)", "xy", false, false},
    {"(?:(?=a)a|(?!a)b)+$", "abba", true, true},
};

TEST(ModulePattern, RegularExpressionsMatchAsInPython) {
  for (const RegexCase& one : kRegexCases) {
    const auto start = ModulePattern::make(Kind::kRegexStart, one.pattern);
    const auto anywhere = ModulePattern::make(Kind::kRegex, one.pattern);
    ASSERT_TRUE(start && anywhere) << one.pattern;
    for (int again = 0; again < 2; ++again) {  // with states that are known, too
      EXPECT_EQ(start->matches(one.name), one.at_start) << one.pattern << " of " << one.name;
      EXPECT_EQ(anywhere->matches(one.name), one.anywhere) << one.pattern << " of " << one.name;
    }
  }
}

TEST(ModulePattern, OtherRegularExpressionsAreRefused) {
  for (const char* bad : {"(",
                          ")",
                          "a)",
                          "[",
                          "[]",
                          "[^]",
                          "[b-a]",
                          "[a-\\d]",
                          "*",
                          "a|*",
                          "(*)",
                          "^*",
                          "\\b+",
                          "a**",
                          "a+*",
                          "a{2}{3}",
                          "a???",
                          "a*+",
                          "a{3",
                          "a{3,2}",
                          "a{x}",
                          "a{}",
                          "a{-1}",
                          "\\",
                          "[\\",
                          "\\q",
                          "\\1",
                          "(a)\\1",
                          "\\0",
                          "\\x6",
                          "\\xzz",
                          "\\u0041",
                          "(?i)a",
                          "(?P<x>a)",
                          "(?P=x)",
                          "(?<=a)b",
                          "(?<!a)b",
                          "(?>a)",
                          "(?#a)",
                          "(?",
                          "(?=.*(?!.*x))",
                          "(?=a)*",
                          "(a?){256}",
                          "a{1,1000}",
                          "a{99999999999}",
                          "((a?){255}){60}",
                          "\xc3\xa9",
                          "(?=a)(?=a)(?=a)(?=a)(?=a)(?=a)(?=a)(?=a)(?=a)"}) {
    EXPECT_FALSE(ModulePattern::make(Kind::kRegex, bad)) << bad;
  }
  EXPECT_FALSE(ModulePattern::make(Kind::kRegex, std::string(5000, 'a')));
}

// Exponential for an engine that goes back; for one that does not, too, where it looks at every
// state for every letter.
TEST(ModulePattern, TheCostDoesNotGrowWithTheStates) {
  std::uint64_t work = 0;
  EXPECT_FALSE(
      ModulePattern::make(Kind::kRegexStart, "(a+)+b")->matches(std::string(3000, 'a'), &work));
  EXPECT_LT(work, 20'000U);
  const auto large = ModulePattern::make(Kind::kRegexStart, "((.?){100}){20}x");
  ASSERT_TRUE(large);
  EXPECT_FALSE(large->matches(std::string(50, 'a'), &work));
  work = 0;
  EXPECT_FALSE(large->matches(std::string(50, 'a'), &work));
  EXPECT_LT(work, 1000U);
}

void on_small_stack(const std::function<void()>& work) {
  constexpr std::size_t kStack = std::size_t{128} << 10;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread{};
  const auto run = [](void* job) -> void* {
    (*static_cast<const std::function<void()>*>(job))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(ModulePattern, TheStackDoesNotGrowWithThePattern) {
  on_small_stack([] {
    for (const std::string& pattern :
         {std::string("((.?){255}){19}"), std::string("(((a?){100}){40}|b)*"),
          std::string(1024, 'a'), repeated("(", 511) + "a" + repeated(")", 511),
          repeated("(a|", 250) + repeated(")", 250), "a" + repeated("|a", 500),
          repeated("a?", 512)}) {
      const auto regex = ModulePattern::make(Kind::kRegex, pattern);
      ASSERT_TRUE(regex) << pattern;
      regex->matches(std::string(100, 'a'));
    }
    EXPECT_FALSE(ModulePattern::make(Kind::kRegex, repeated("(", 1024)));
  });
}

// What a list of modules of a mixture of experts costs, a fifth of them: every pattern is tried on
// every name.
TEST(ModuleRules, ManyPatternsAndModulesAreWithinTheLimitOfWork) {
  ModuleRules rules;
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    rules.add(*ModulePattern::make(Kind::kRegexStart, ".*vision" + number + ".*"), 0);
    rules.add(*ModulePattern::make(Kind::kRegexStart,
                                   "^(?!.*mlp).*\\.(1|2|3)" + number + "\\.(q|k|v)_proj$"),
              1);
    rules.add(*ModulePattern::make(Kind::kGlob, "model.layers.*.block" + number + "*"), 2);
  }
  rules.add(*ModulePattern::make(Kind::kRegex, "up_proj"), 3);
  for (int expert = 0; expert < 10'000; ++expert) {
    ASSERT_EQ(rules.find("model.layers.17.mlp.experts." + std::to_string(expert) + ".up_proj"), 3);
  }
  EXPECT_LT(5 * rules.work()->load(), kMostMatchingWork);
}

TEST(ModuleRules, TheFirstRuleCountsHoweverItIsLookedUp) {
  ModuleRules rules;
  rules.add(*ModulePattern::make(Kind::kGlob, "a.*.z"), 0);
  rules.add(*ModulePattern::make(Kind::kComponents, "b.c"), 1);
  rules.add(*ModulePattern::make(Kind::kExact, "a.b.c"), 2);
  rules.add_name("n", 3);
  rules.add(*ModulePattern::make(Kind::kName, "n.m"), 4);
  rules.add(*ModulePattern::make(Kind::kName, "k"), 5);
  rules.add(*ModulePattern::make(Kind::kComponents, "b.c"), 6);
  rules.add(*ModulePattern::make(Kind::kSubstring, "last"), 7);
  rules.finish();
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(rules.find("a.b.c"), 1);
    EXPECT_EQ(rules.find("a.b.c.z"), 0);
    EXPECT_EQ(rules.find("x.b.c.d"), 1);
    EXPECT_EQ(rules.find("x.b.cd"), ModuleRules::kNone);
    EXPECT_EQ(rules.find("n.m"), 3);
    EXPECT_EQ(rules.find("n.b.c"), 1);
    EXPECT_EQ(rules.find("k"), 5);
    EXPECT_EQ(rules.find("k.x.last"), 5);
    EXPECT_EQ(rules.find("x.k.last"), 7);
    EXPECT_EQ(rules.find("kk"), ModuleRules::kNone);
    EXPECT_EQ(rules.find(""), ModuleRules::kNone);
  }
}

// A model with this many layers, whose config leaves out these modules.
Model model_without(int layers, const std::vector<std::string>& ignored) {
  std::string list;
  for (const std::string& pattern : ignored) list += (list.empty() ? "\"" : ", \"") + pattern + '"';
  return model_from_config(R"({"model_type": "llama", "hidden_size": 256,
    "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 4,
    "vocab_size": 1024, "num_hidden_layers": )" +
                           std::to_string(layers) + R"(, "quantization_config": {
    "quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0":
      {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group",
       "group_size": 64, "symmetric": true}}}, "ignore": [)" +
                           list + "]}}");
}

TEST(ModuleRules, ALargePatternCostsLittleInALargeModel) {
  const Model model = model_without(4096, {"re:((.?){100}){20}x"});
  EXPECT_TRUE(model.unserved.empty());
  EXPECT_EQ(model.layers.front().layers.size(), 4096U);
}

TEST(ModuleRules, ConfigsWhosePatternsTakeTooLongAreRefusedByName) {
  std::vector<std::string> ignored = {"re:.*vision.*", "re:((.?){150}){25}"};
  for (int i = 0; i < 1500; ++i) ignored.push_back("re:((.?){100}){10}" + std::to_string(i));
  try {
    model_without(4096, ignored);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
    EXPECT_EQ(error.code(), "model.quantization");
    EXPECT_EQ(error.problems().at(0).pointer, "/quantization_config/ignore");
    EXPECT_EQ(error.problems().at(0).value, "\"((.?){150}){25}\"");
  }
}

}  // namespace
}  // namespace heddle
