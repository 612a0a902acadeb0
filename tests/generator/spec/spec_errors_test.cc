#include <algorithm>
#include <tuple>

#include "generator/spec/near_miss.h"
#include "tests/generator/spec/spec_helpers.h"

namespace heddle {
namespace {

TEST(SpecErrors, AllAtOnce) {
  const Error error = parse_error(
      R"({"heddle":2,"op":"gemm","shape":{"n":"x"},"weight":{"bits":4,"group_sise":128},)"
      R"("activation":{"dtype":"fp61"}})");
  std::vector<std::string> found;
  for (const Problem& problem : error.problems()) found.push_back(problem.pointer);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::string>{"/activation/dtype", "/heddle", "/shape/k", "/shape/n",
                                             "/weight/group_sise"}));
  EXPECT_EQ(error.code(), "spec.invalid");
}

// What fields a spec has is not known before its operation is.
TEST(SpecErrors, WithoutAnOperationNothingElseIsJudged) {
  const std::string rest = R"("heddle":1,"shape":{"kv_heads":8,"head_dim":64},"kv":{}})";
  for (const auto& [op, code, hint] :
       {std::tuple{R"("op":"kv_apend",)", "spec.unknown_word", "did you mean \"kv_append\"?"},
        std::tuple{R"("op":"wibble",)", "spec.unknown_word", ""},
        std::tuple{R"("op":7,)", "spec.wrong_type", ""},
        std::tuple{"", "spec.missing_field", ""}}) {
    const Error error = parse_error("{" + std::string(op) + rest);
    EXPECT_EQ(error.code(), code);
    ASSERT_EQ(error.problems().size(), 1U) << error.what();
    EXPECT_EQ(error.problems()[0].pointer, "/op");
    EXPECT_EQ(error.problems()[0].hint, hint);
    EXPECT_NE(error.problems()[0].allowed.find("\"row_transform\""), std::string::npos);
  }
}

TEST(SpecErrors, MisspeltField) {
  const Error error = parse_error(changed(R"("bits":4)", R"("bits":4,"group_sise":64)"));
  EXPECT_EQ(error.code(), "spec.unknown_field");
  ASSERT_EQ(error.problems().size(), 1U);
  const Problem& problem = error.problems()[0];
  EXPECT_EQ(problem.pointer, "/weight/group_sise");
  EXPECT_EQ(problem.value, "64");
  EXPECT_EQ(problem.allowed,
            "bits, type, group_size, group_offset, group_rows, zero_point, scale_dtype, "
            "channel_scale, tensor_scale, interleave, permutation");
  EXPECT_EQ(problem.hint, "did you mean \"group_size\"?");
}

TEST(SpecErrors, FieldInTheWrongObject) {
  const auto hint = [](std::string_view field) {
    return parse_error(changed(R"("op")", std::string(field) + R"(:1,"op")")).problems()[0].hint;
  };
  EXPECT_EQ(hint(R"("group_size")"), "it belongs at /weight/group_size");
  EXPECT_EQ(hint(R"("gorup_size")"),
            "did you mean \"group_size\"? it belongs at /weight/group_size");
  EXPECT_EQ(hint(R"("n")"), "it belongs at /shape/n or /tile/n");
  EXPECT_EQ(hint(R"("nonsense")"), "");
  EXPECT_EQ(hint(R"("0")"), "");
}

// A key with a slash is no path to a field below.
TEST(SpecErrors, KeysAreNotPaths) {
  const Error error = parse_error(changed(R"("op")", R"("weight/bits":4,"a~b":1,"op")"));
  ASSERT_EQ(error.problems().size(), 2U);
  EXPECT_EQ(error.problems()[0].pointer, "/weight~1bits");
  EXPECT_EQ(error.problems()[1].pointer, "/a~0b");
}

TEST(SpecErrors, MisspeltWord) {
  const Error error = parse_error(changed("fp16", "pf16"));
  EXPECT_EQ(error.code(), "spec.unknown_word");
  EXPECT_EQ(error.problems()[0].allowed,
            "\"fp16\", \"bf16\", \"int8\", \"fp8_e4m3\" or \"fp8_e5m2\"");
  EXPECT_EQ(error.problems()[0].hint, "did you mean \"fp16\"?");
  EXPECT_EQ(parse_error(changed("fp16", "FP16")).problems()[0].hint, "did you mean \"fp16\"?");
  EXPECT_EQ(parse_error(changed("fp16", "single")).problems()[0].hint, "");
}

TEST(SpecErrors, NoMatrixInstructionOfFp8) {
  const Error error = parse_error(changed(R"("op")", R"("multiply":{"dtype":"e4m3"},"op")"));
  EXPECT_EQ(error.code(), "spec.unknown_word");
  ASSERT_EQ(error.problems().size(), 1U);
  EXPECT_EQ(error.problems()[0].pointer, "/multiply/dtype");
  EXPECT_EQ(error.problems()[0].value, "\"e4m3\"");
  EXPECT_EQ(error.problems()[0].allowed, "\"fp16\" or \"bf16\"");
}

TEST(SpecErrors, GroupOffsetOfNoWholeTiles) {
  for (const char* value : {"8", "-16", "1048576"}) {
    const Error error =
        parse_error(changed(R"("bits":4)", R"("bits":4,"group_offset":)" + std::string(value)));
    EXPECT_EQ(error.code(), "spec.out_of_range");
    ASSERT_EQ(error.problems().size(), 1U);
    EXPECT_EQ(error.problems()[0].pointer, "/weight/group_offset");
    EXPECT_EQ(error.problems()[0].value, value);
    EXPECT_EQ(error.problems()[0].allowed, "0 to 1048560, a multiple of 16");
  }
}

TEST(SpecErrors, DuplicateField) {
  const Error error = parse_error(changed(R"("bits":4)", R"("bits":4,"type":"int","bits":8)"));
  EXPECT_EQ(error.code(), "spec.duplicate_field");
  ASSERT_EQ(error.problems().size(), 1U);
  EXPECT_EQ(error.problems()[0].pointer, "/weight/bits");
  EXPECT_EQ(error.problems()[0].value, "8");
}

TEST(SpecErrors, SyntaxErrorHasLineAndColumn) {
  const Error error = parse_error("{\n  \"heddle\": 1,\n  \"op\" \"gemm\"\n}");
  EXPECT_EQ(error.code(), "spec.syntax");
  EXPECT_NE(std::string(error.what()).find("line 3, column "), std::string::npos) << error.what();
  EXPECT_EQ(parse_error("").code(), "spec.syntax");
  EXPECT_NE(std::string(parse_error("").what()).find("line 1, column 1"), std::string::npos);
  EXPECT_EQ(parse_error(std::string(kSmallSpec) + "x").code(), "spec.syntax");
  EXPECT_EQ(parse_error("{\"a\": \"\xff\xfe\"}").code(), "spec.syntax");
  EXPECT_EQ(parse_error("{\"a\": \"\\ud800\"}").code(), "spec.syntax");
}

TEST(SpecErrors, NothingMayFollowBehindANul) {
  using namespace std::string_literals;
  for (const std::string& behind : {"\0"s, "\0 garbage }{"s, "\n\0"s}) {
    const Error error = parse_error(std::string(kSmallSpec) + behind);
    EXPECT_EQ(error.code(), "spec.syntax");
    EXPECT_NE(std::string(error.what()).find("a NUL byte"), std::string::npos) << error.what();
  }
  EXPECT_NE(std::string(parse_error("{\n  \0}"s).what()).find("line 2, column 3"),
            std::string::npos);
}

TEST(SpecErrors, DepthAndSize) {
  const auto nested = [](int depth) {
    return changed(R"("op")", R"("x":)" + std::string(static_cast<std::size_t>(depth), '[') +
                                  std::string(static_cast<std::size_t>(depth), ']') + R"(,"op")");
  };
  EXPECT_EQ(parse_error(nested(31)).code(), "spec.unknown_field");
  EXPECT_EQ(parse_error(nested(32)).code(), "spec.too_deep");
  EXPECT_EQ(parse_error(std::string(1000000, '[')).code(), "spec.too_deep");

  std::string text(kSmallSpec);
  text.resize(std::size_t{1} << 20, ' ');
  EXPECT_NO_THROW(Spec::parse(text));
  text += ' ';
  EXPECT_EQ(parse_error(text).code(), "spec.too_large");
}

// Messages are printable and short, whatever the input was.
TEST(SpecErrors, MessagesAreSafeAndShort) {
  std::string text = "{";
  for (int i = 0; i < 2000; ++i) {
    text += "\"\\u001b[31m\xc3\xa9" + std::to_string(i) + std::string(300, 'k') + "\":\"" +
            std::string(50, 'v') + "\\u0000\",";
  }
  text.back() = '}';
  const Error error = parse_error(text);
  EXPECT_LE(error.problems().size(), 60U);
  for (const Problem& problem : error.problems()) {
    EXPECT_LE(problem.pointer.size(), 64U);
    EXPECT_LE(problem.value.size(), 60U);
  }
  for (const char c : std::string_view(error.what())) {
    ASSERT_TRUE((c >= ' ' && c <= '~') || c == '\n') << static_cast<int>(c);
  }
}

TEST(NearMiss, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("group_sise", "group_size"), 1U);
  EXPECT_EQ(edit_distance("gorup", "group"), 1U);
  EXPECT_EQ(edit_distance("GROUP", "group"), 0U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(NearMiss, OffersOnlyWhatIsNear) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(near_misses("bit", {"bits", "type"}), Words{"bits"});
  EXPECT_EQ(near_misses("x", {"n", "k"}), Words{});
  EXPECT_EQ(near_misses("N", {"n", "k"}), Words{"n"});
  const Words types = {"fp16", "int8", "fp8_e4m3", "fp8_e5m2"};
  EXPECT_EQ(near_misses("e4m3", types), Words{"fp8_e4m3"}) << "the only one that it is a part of";
  EXPECT_EQ(near_misses("_e", types), Words{}) << "a part of two";
  EXPECT_EQ(near_misses("per_token", {"none", "tensor", "token", "group"}), Words{"token"});
  EXPECT_EQ(near_misses(std::string(100000, 'a'), {"aaaa"}), Words{});
  EXPECT_EQ(near_misses("int3", {"int8", "int4", "fp16", "int2"}), (Words{"int8", "int4", "int2"}))
      << "all that are equally near";
  EXPECT_EQ(near_misses("sm_9", {"sm_70", "sm_91", "sm_92", "sm_93", "sm_94"}).size(), 3U);
}

TEST(NearMiss, KnowsWhatOthersCallIt) {
  using Words = std::vector<std::string_view>;
  const Words types = {"fp16", "bf16", "fp32", "int8", "fp8_e4m3", "fp8_e5m2"};
  for (const char* word : {"float16", "half", "F16", "torch.float16"}) {
    EXPECT_EQ(near_misses(word, types), Words{"fp16"}) << word;
  }
  EXPECT_EQ(near_misses("fp8", types), (Words{"fp8_e4m3", "fp8_e5m2"}));
  EXPECT_EQ(near_misses("torch.float8_e4m3fn", types), Words{"fp8_e4m3"});
  EXPECT_EQ(near_misses("fp8", {"uint", "int", "e4m3", "e5m2"}), (Words{"e4m3", "e5m2"}));
  EXPECT_EQ(near_misses("swiglu", {"none", "gelu", "silu"}), Words{"silu"});
  EXPECT_EQ(near_misses("h20", {"a100", "h100", "h200", "sm_90"}), (Words{"h200", "sm_90"}));
}

TEST(NearMiss, AsksAQuestion) {
  EXPECT_EQ(did_you_mean("fp8", {"fp16", "fp8_e4m3", "fp8_e5m2"}),
            "did you mean \"fp8_e4m3\" or \"fp8_e5m2\"?");
  EXPECT_EQ(did_you_mean("int3", {"int8", "int4", "int2"}),
            "did you mean \"int8\", \"int4\" or \"int2\"?");
  EXPECT_EQ(did_you_mean("wibble", {"fp16"}), "");
}

}  // namespace
}  // namespace heddle
