// Expressions over a config's fields.
#include "generator/model/config_values.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "generator/model/family_table.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr const char* kConfig = R"({
  "hidden_size": 64, "heads": 4, "ratio": 1.5, "word": "abc", "flag": true, "nothing": null,
  "types": ["full", "sliding", "full"], "some": [1, 2], "inner": {"size": 8, "list": [3, 5]}})";

class Values {
 public:
  explicit Values(const std::string& text = kConfig,
                  std::vector<NamedExpression> names = {{"heads", "heads ?? n_head"},
                                                        {"dim", "hidden_size / heads"}})
      : document_(*read_document(text, {}, findings_)),
        reader_(document_, "", findings_),
        names_(std::move(names)),
        values_(reader_, reader_, {}, names_) {}

  ConfigValues* operator->() { return &values_; }
  double number(Expression text) { return values_.number(text); }
  std::vector<Problem> problems() const { return findings_.problems(); }
  // What is wrong, "" if nothing.
  std::string fault() const {
    std::string text;
    for (const Problem& problem : findings_.problems()) {
      text += (text.empty() ? "" : "; ") + problem.pointer + ": " + problem.message;
    }
    return text;
  }

 private:
  Findings findings_{"model"};
  Node document_;
  ConfigReader reader_;
  std::vector<NamedExpression> names_;
  ConfigValues values_;
};

TEST(ConfigValues, Arithmetic) {
  Values values;
  EXPECT_EQ(values.number("2 + 3 * 4 - 1"), 13);
  EXPECT_EQ(values.number("(2 + 3) * 4 % 7"), 6);
  EXPECT_EQ(values.number("dim * 2"), 32);
  EXPECT_EQ(values.number("ratio * 2"), 3);
  EXPECT_EQ(values.number("0.25 * 4"), 1);
  EXPECT_EQ(values.number("quotient(7, 2) + floor(ratio) + even(9, 4)"), 3 + 1 + 12);
  EXPECT_EQ(values.number("ratio(1, 4)"), 0.25);
  EXPECT_EQ(values.number("length(types)"), 3);
  EXPECT_EQ(values.fault(), "");
  EXPECT_EQ(values.number("hidden_size / 5"), 1);
  EXPECT_EQ(values.fault(), "/hidden_size: is no multiple of 5");
}

TEST(ConfigValues, Conditions) {
  Values values;
  for (const char* holds :
       {"flag", "!(1 == 2)", "heads >= 4 && heads < 5", "word == 'abc'", "word != 'abd'",
        "false || flag", "some has 2", "!(some has 3)", "given(word)", "!given(absent)",
        "!given(nothing)", "types[1] == 'sliding'", "word[1] == 'b'", "inner.size == 8",
        "inner.list[1] == 5", "false && absent == 1 || true"}) {
    EXPECT_TRUE(values->flag(holds)) << holds;
  }
  EXPECT_EQ(values.fault(), "");
}

TEST(ConfigValues, WhatIsAbsentIsNullUntilItIsReplaced) {
  Values values;
  EXPECT_EQ(values.number("absent ?? 7"), 7);
  EXPECT_EQ(values.number("absent * 2 + 1 ?? nothing ?? 8"), 8);
  EXPECT_EQ(values.number("absent[3] == 'x' ?? 9"), 9);
  EXPECT_EQ(values.number("inner.absent.deeper ?? 3"), 3);
  EXPECT_TRUE(values->value("absent && flag").is_null());
  EXPECT_EQ(values.fault(), "");
  EXPECT_EQ(values->size("absent ?? nothing ?? inner.absent", 10), 1);
  EXPECT_EQ(values.fault(),
            "/nothing: one of these fields is required: /absent, /inner/absent, /nothing");
  EXPECT_EQ(values.problems().at(0).value, "null");
}

TEST(ConfigValues, LayersHaveValuesOfTheirOwn) {
  Values values;
  values->set_layer(0);
  EXPECT_TRUE(values->flag("types[layer] == 'full'"));
  EXPECT_TRUE(values->depends_on_layer());
  values->set_layer(1);
  EXPECT_FALSE(values->flag("types[layer] == 'full'"));
  values->set_layer(0);
  EXPECT_TRUE(values->flag("flag || layer == 5"));
  EXPECT_FALSE(values->depends_on_layer()) << "the other side was not asked";
  EXPECT_FALSE(values->depends_on_layer());
  EXPECT_EQ(values.number("of_layer(hidden_size)"), 64);
  EXPECT_FALSE(values->depends_on_layer()) << "no list";
  EXPECT_EQ(values.number("of_layer(some)"), 1);
  EXPECT_TRUE(values->depends_on_layer());
  values->set_layer(3);
  values->value("types[layer]");
  EXPECT_NE(values.fault().find("no entry for decoder layer 3"), std::string::npos);
}

TEST(ConfigValues, WrongFieldsAreFindingsOnce) {
  Values values;
  EXPECT_EQ(values->size("word", 10), 1);
  EXPECT_EQ(values->size("word * 2", 10), 2);
  EXPECT_EQ(values->size("hidden_size", 10), 1);
  EXPECT_EQ(values->size("ratio", 10), 1);
  EXPECT_EQ(values->text("types"), "");
  EXPECT_EQ(values.fault(),
            "/word: must be an integer; /hidden_size: is out of range; /ratio: must be an integer; "
            "/types: must be a string");
}

// What would choose another kind of layer, or another size, without a word.
TEST(ConfigValues, FieldsThatSayNothingAreFindings) {
  const auto fault_of = [](const char* config, const char* expression) {
    Values values(config);
    values->set_layer(2);
    values->size(expression, 1 << 20);
    return values.fault();
  };
  EXPECT_EQ(fault_of(R"({"some": "word"})", "1 + (some has layer)"), "/some: must be an array");
  EXPECT_EQ(fault_of(R"({"some": 0.5})", "1 + (some has layer)"), "/some: must be an array");
  EXPECT_EQ(fault_of(R"({"some": ["2"]})", "1 + (some has layer)"), "/some/0: must be an integer");
  EXPECT_EQ(fault_of(R"({"some": [-1]})", "1 + (some has layer)"), "/some/0: is out of range");
  EXPECT_EQ(fault_of(R"({"some": [2]})", "1 + (some has layer)"), "");
  EXPECT_EQ(fault_of(R"({"inner": "word"})", "inner.size ?? 1"), "/inner: must be an object");
  EXPECT_EQ(fault_of(R"({"inner": {}})", "inner.size ?? 1"), "");
  for (const char* interval : {"0", "-1", "1.5"}) {
    const std::string config = std::string(R"({"interval": )") + interval + "}";
    EXPECT_EQ(fault_of(config.c_str(), "1 + layer % interval").substr(0, 9), "/interval")
        << interval;
  }
  EXPECT_EQ(fault_of(R"({"heads": -1, "wide": 8})", "16 + heads * wide"),
            "/heads: is out of range");
  EXPECT_EQ(fault_of(R"({"heads": 1.5, "wide": 8})", "16 + heads * wide"),
            "/heads: must be an integer");
  EXPECT_EQ(fault_of(R"({"heads": 0, "wide": 8})", "16 + heads * wide"), "/heads: is out of range");
  EXPECT_EQ(fault_of(R"({"heads": false, "wide": 8})", "16 + !!heads * wide"), "");
  EXPECT_EQ(fault_of(R"({"heads": 2, "wide": 8})", "16 + heads * wide"), "");
}

// A flag is no number, a number may be a flag: 0 and 1 are as good in Python.
TEST(ConfigValues, FlagsAreNoNumbers) {
  const auto fault_of = [](const char* flag, const char* expression) {
    Values values(std::string(R"({"wide": 8, "list": [1], "flags": [true], "flag": )") + flag +
                  "}");
    values->set_layer(1);
    values->size(expression, 1 << 20);
    return values.fault();
  };
  for (const char* expression : {"flag", "flag + 7", "8 - flag", "wide * flag", "wide / flag",
                                 "1 + wide % flag", "1 + (flag < 2)", "quotient(wide, flag)"}) {
    EXPECT_EQ(fault_of("true", expression).find("/flag: must be a"), 0U) << expression;
    EXPECT_EQ(fault_of("1", expression), "") << expression;
  }
  EXPECT_EQ(fault_of("true", "1 + (flags has layer)"), "/flags/0: must be an integer");
  for (const char* expression :
       {"1 + !!flag", "1 + (flag && list has layer)", "when(flag, 1) ?? 2", "1 + (flag == true)"}) {
    for (const char* flag : {"true", "false", "0", "1"}) {
      EXPECT_EQ(fault_of(flag, expression), "") << expression << " of " << flag;
    }
  }
  Values values(R"({"flag": true, "word": "yes"})", {});
  values.number("flag");
  values->flag("word");
  EXPECT_EQ(values.fault(), "/flag: must be a number; /word: must be a boolean");
}

// As the config has it: a text in quotes, a flag as a word, a list as one.
TEST(ConfigValues, FindingsShowTheValue) {
  using Read = std::function<void(Values*)>;
  const auto shown = [](const std::string& value, const Read& read) {
    Values values(R"({"field": )" + value + "}", {});
    read(&values);
    const std::vector<Problem> problems = values.problems();
    return problems.size() == 1 ? problems[0].value : "other than one problem";
  };
  const Read size = [](Values* values) { (*values)->size("field", 10); };
  const Read number = [](Values* values) { (*values)->number("field"); };
  const Read flag = [](Values* values) { (*values)->flag("field"); };
  const Read text = [](Values* values) { (*values)->text("field"); };
  for (const char* value : {R"("7")", "[1]", R"({"a": 1})", "null"}) {
    for (const Read& read : {size, number, flag}) EXPECT_EQ(shown(value, read), value);
  }
  EXPECT_EQ(shown("true", size), "true");
  EXPECT_EQ(shown("false", number), "false");
  EXPECT_EQ(shown("1.5", size), "1.5");
  EXPECT_EQ(shown("7", text), "7");
  EXPECT_EQ(shown("true", text), "true");
}

TEST(ConfigValues, NumbersBeyondAllSizes) {
  Values values(R"({"big": 1e300, "small": -1e300, "heads": 1})", {});
  EXPECT_EQ(values->size("big", 10), 1);
  EXPECT_EQ(values->size("small * 2", 10), 1);
  EXPECT_EQ(values->size("quotient(big, heads)", 10), 1);
  values.number("big * big - big * big");  // no number at all
  EXPECT_EQ(values->size("big * big - big * big", 10), 1);
  EXPECT_NE(values.fault(), "");
}

TEST(ConfigValues, ATextThatIsNoExpressionIsAnInternalError) {
  Values values;
  for (const char* text : {"", "1 +", "(1", "a b", "word[", "'open", "unknown(1)", "1 = 1"}) {
    try {
      values->value(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kInternal) << text;
    }
  }
}

// Reads every expression of the row, whatever the config lacks.
void read_all(const FamilyRow& family, const char* config) {
  Values values(config, family.names);
  values->set_layer(0);
  for_each_expression(family, [&](Expression text) { static_cast<void>(values->value(text)); });
  for (const MixerRow& mixer : family.mixers) {
    for (const LinearRow& row : mixer.linears) EXPECT_FALSE(row.path.empty());
  }
}

TEST(Families, EveryExpressionCanBeRead) {
  for (const FamilyRow* family : family_rows()) {
    SCOPED_TRACE(std::string(family->name));
    EXPECT_NO_THROW(read_all(*family, "{}"));
    EXPECT_NO_THROW(read_all(*family, kConfig));
    EXPECT_FALSE(family->mixers.empty());
    EXPECT_FALSE(family->feed_forwards.empty());
  }
}

TEST(Families, TypesAreNamedOnce) {
  for (const FamilyRow* family : family_rows()) {
    for (const std::string_view type : family->model_types) EXPECT_EQ(find_family(type), family);
  }
  for (const Wrapper& wrapper : wrappers()) {
    for (const std::string_view type : wrapper.model_types) {
      EXPECT_EQ(find_wrapper(type), &wrapper);
    }
    EXPECT_EQ(wrapper.bodies.size(), wrapper.heads.size()) << wrapper.name;
    if (!wrapper.language.empty()) {
      EXPECT_NE(find_family(wrapper.language), nullptr) << wrapper.name;
    }
  }
}

}  // namespace
}  // namespace heddle
