#include <functional>
#include <utility>

#include "tests/generator/spec/spec_helpers.h"

namespace heddle {
namespace {

TEST(SpecParse, FillsInDefaults) {
  const Spec spec = Spec::parse(kSmallSpec);
  const GemmSpec& gemm = spec.gemm();
  EXPECT_EQ(spec.op(), Op::kGemm);
  EXPECT_EQ(spec.name(), "");
  EXPECT_EQ(gemm.shape.n, 64);
  EXPECT_EQ(gemm.shape.k, 128);
  EXPECT_EQ(gemm.shape.m_min, 1);
  EXPECT_EQ(gemm.shape.m_max, kDefaultMaxM);
  EXPECT_EQ(gemm.weight.group_size, 128);
  EXPECT_EQ(gemm.weight.zero_point, ZeroPoint::kNone);
  EXPECT_FALSE(gemm.tile.m.has_value());
  EXPECT_TRUE(gemm.deterministic);
  EXPECT_FALSE(gemm.batch_invariant);
  EXPECT_EQ(gemm.path, Path::kAuto);
}

TEST(SpecParse, ReadsEveryField) {
  const Spec spec = Spec::parse(R"({
    "path": "ampere", "deterministic": false, "batch_invariant": true, "name": "a-b_c.1", "heddle": 1, "op": "gemm",
    "shape": {"m": [2, 77], "n": 48, "k": 96},
    "weight": {"bits": 3, "type": "int", "group_size": -1, "zero_point": "float",
               "scale_dtype": "fp32", "interleave": "fragment"},
    "activation": {"dtype": "bf16"}, "output": {"dtype": "fp32"},
    "tile": {"m": 8, "n": 16, "k": 64, "stages": 3, "split_k": 5, "warps_m": 6, "warps_n": 7,
             "warps_k": 9},
    "epilogue": {"bias": true, "activation": "gelu_tanh", "residual": true,
                 "gated": true, "limit": 9}})");
  const GemmSpec& gemm = spec.gemm();
  EXPECT_EQ(spec.name(), "a-b_c.1");
  EXPECT_EQ(gemm.shape.m_min, 2);
  EXPECT_EQ(gemm.shape.m_max, 77);
  EXPECT_EQ(gemm.shape.n, 48);
  EXPECT_EQ(gemm.shape.k, 96);
  EXPECT_EQ(gemm.weight.bits, 3);
  EXPECT_EQ(gemm.weight.type, WeightType::kInt);
  EXPECT_EQ(gemm.weight.group_size, kPerChannel);
  EXPECT_EQ(gemm.weight.zero_point, ZeroPoint::kFloat);
  EXPECT_EQ(gemm.weight.scale_dtype, DType::kFp32);
  EXPECT_EQ(gemm.activation, DType::kBf16);
  EXPECT_EQ(gemm.tile.m, 8);
  EXPECT_EQ(gemm.tile.n, 16);
  EXPECT_EQ(gemm.tile.k, 64);
  EXPECT_EQ(gemm.tile.stages, 3);
  EXPECT_EQ(gemm.tile.split_k, 5);
  EXPECT_EQ(gemm.tile.warps_m, 6);
  EXPECT_EQ(gemm.tile.warps_n, 7);
  EXPECT_EQ(gemm.tile.warps_k, 9);
  EXPECT_TRUE(gemm.epilogue.bias);
  EXPECT_EQ(gemm.epilogue.activation, Activation::kGeluTanh);
  EXPECT_TRUE(gemm.epilogue.residual);
  EXPECT_TRUE(gemm.epilogue.gated);
  EXPECT_EQ(gemm.epilogue.limit, 9);
  EXPECT_EQ(gemm.output_dtype(), DType::kFp32);
  EXPECT_EQ(gemm.output_columns(), 24);
  EXPECT_FALSE(gemm.deterministic);
  EXPECT_TRUE(gemm.batch_invariant);
  EXPECT_EQ(gemm.path, Path::kAmpere);
}

TEST(SpecParse, ScaleDtypeFollowsTheActivation) {
  EXPECT_EQ(Spec::parse(changed("fp16", "bf16")).gemm().weight.scale_dtype, DType::kBf16);
  EXPECT_EQ(Spec::parse(kSmallSpec).gemm().weight.scale_dtype, DType::kFp16);
}

TEST(SpecParse, IntegersAreThoseOfJsonSchema) {
  EXPECT_EQ(Spec::parse(changed(R"("bits":4)", R"("bits":4.0)")).gemm().weight.bits, 4);
  EXPECT_EQ(Spec::parse(changed(R"("n":64)", R"("n":6.4e1)")).gemm().shape.n, 64);
  EXPECT_EQ(parse_error(changed(R"("bits":4)", R"("bits":4.5)")).code(), "spec.wrong_type");
  EXPECT_EQ(parse_error(changed(R"("bits":4)", R"("bits":"4")")).code(), "spec.wrong_type");
  EXPECT_EQ(parse_error(changed(R"("heddle":1)", R"("heddle":true)")).code(), "spec.wrong_type");
}

TEST(SpecParse, HugeNumbersAreOutOfRange) {
  for (const char* n : {"9223372036854775807", "9223372036854775808", "-9223372036854775809",
                        "18446744073709551616", "100000000000000000000000000000", "1e300"}) {
    const Error error = parse_error(changed(R"("n":64)", std::string(R"("n":)") + n));
    EXPECT_EQ(error.code(), "spec.out_of_range") << n;
    EXPECT_EQ(error.problems().at(0).pointer, "/shape/n");
  }
  for (const char* n : {"1e999", "NaN", "Infinity", "-Infinity", "0x40", "064", "+64", "64."}) {
    EXPECT_EQ(parse_error(changed(R"("n":64)", std::string(R"("n":)") + n)).code(), "spec.syntax")
        << n;
  }
}

TEST(SpecParse, RangesAndMultiples) {
  EXPECT_NO_THROW(Spec::parse(changed(R"("n":64)", R"("n":1048576)")));
  EXPECT_EQ(parse_error(changed(R"("n":64)", R"("n":1048577)")).code(), "spec.out_of_range");
  EXPECT_EQ(parse_error(changed(R"("n":64)", R"("n":0)")).code(), "spec.out_of_range");
  for (const char* group : {"-1", "0", "16", "48", "1048576"}) {
    EXPECT_NO_THROW(
        Spec::parse(changed(R"("bits":4)", std::string(R"("bits":4,"group_size":)") + group)));
  }
  for (const char* group : {"-2", "1", "15", "40", "1048592"}) {
    EXPECT_EQ(parse_error(changed(R"("bits":4)", std::string(R"("bits":4,"group_size":)") + group))
                  .code(),
              "spec.out_of_range");
  }
  const Error error = parse_error(changed(R"("op")", R"("tile":{"m":12},"op")"));
  ASSERT_EQ(error.problems().size(), 1U);
  EXPECT_EQ(error.problems()[0].message, "is not a multiple of 8");
  EXPECT_EQ(error.problems()[0].allowed, "8 to 1024, a multiple of 8");
  EXPECT_EQ(error.problems()[0].value, "12");
}

// The same words for a document and a struct.
TEST(SpecParse, WhatIsWrongWithAValueIsSaid) {
  const auto problem = [](const std::function<void()>& make) {
    try {
      make();
    } catch (const Error& error) {
      const Problem& first = error.problems().at(0);
      return first.pointer + " " + first.message + ", got " + first.value;
    }
    return std::string("nothing");
  };
  MoeSpec moe = Spec::parse(R"({"heddle":1,"op":"moe","shape":{"hidden":256,"intermediate":128,
      "experts":8,"top_k":2},"weight":{"gate_up":{"bits":4},"down":{"bits":4}},"activation":{"dtype":"bf16"}})")
                    .moe();
  GemmSpec gemm = Spec::parse(changed("", "")).gemm();
  struct Case {
    std::int64_t intermediate;
    int group_size;
    const char* text;
  };
  const Case cases[] = {{2000, 40, "is not a multiple of "},
                        {0, -2, "is out of range, got "},
                        {-64, 1 << 20 | 16, "is out of range, got "}};
  for (const Case& one : cases) {
    const bool is_other = one.intermediate == 2000;
    const std::string group = std::to_string(one.group_size);
    moe.shape.intermediate = one.intermediate;
    EXPECT_EQ(problem([&] { Spec::from_moe(moe); }), std::string("/shape/intermediate ") +
                                                         one.text + (is_other ? "32, got " : "") +
                                                         std::to_string(one.intermediate));
    const std::string text =
        std::string("/weight/group_size ") + one.text + (is_other ? "16, got " : "") + group;
    gemm.weight.group_size = one.group_size;
    EXPECT_EQ(problem([&] { Spec::from_gemm(gemm); }), text);
    EXPECT_EQ(
        problem([&] { Spec::parse(changed(R"("bits":4)", R"("bits":4,"group_size":)" + group)); }),
        text);
  }
  gemm.weight.group_size = 128;
  gemm.weight.interleave = Interleave::kPermutation;
  const std::pair<std::vector<int>, const char*> lists[] = {
      {{0, 0}, "has a value twice, got [0,0]"}, {{32}, "has a value out of range, got [32]"}};
  for (const auto& [list, text] : lists) {
    gemm.weight.permutation = list;
    EXPECT_EQ(problem([&] { Spec::from_gemm(gemm); }), std::string("/weight/permutation ") + text);
  }
}

TEST(SpecParse, Lists) {
  const auto permuted = [](std::string_view list) {
    return changed(R"("bits":4)",
                   R"("bits":4,"interleave":"permutation","permutation":)" + std::string(list));
  };
  EXPECT_EQ(Spec::parse(permuted("[7,6.0,5,4,3,2,1,0]")).gemm().weight.permutation,
            (std::vector<int>{7, 6, 5, 4, 3, 2, 1, 0}));
  for (const char* list : {"[]", "[0,0]", "[-1]", "[32]", "[9223372036854775807]"}) {
    EXPECT_EQ(parse_error(permuted(list)).code(), "spec.out_of_range") << list;
  }
  for (const char* list : {"[0.5]", "[\"0\"]", "{}", "3", "[null]"}) {
    EXPECT_EQ(parse_error(permuted(list)).code(), "spec.wrong_type") << list;
  }
}

TEST(SpecParse, OperationsOnWeights) {
  const Spec spec =
      Spec::parse(R"({"heddle":1,"op":"dequantize","shape":{"n":64,"k":128},"weight":{"bits":4},)"
                  R"("source":{"format":"gptq","act_order":true},"output":{"dtype":"bf16"}})");
  EXPECT_EQ(spec.op(), Op::kDequantize);
  EXPECT_EQ(spec.weight_op().format, CheckpointFormat::kGptq);
  EXPECT_TRUE(spec.weight_op().act_order);
  EXPECT_EQ(spec.weight_op().dtype, DType::kBf16);
  EXPECT_EQ(spec.weight_op().weight.scale_dtype, DType::kBf16);
  EXPECT_EQ(spec.weight_shape().k, 128);
  EXPECT_FALSE(spec.gated());
  // A field of another operation is unknown here.
  EXPECT_EQ(parse_error(R"({"heddle":1,"op":"repack","shape":{"n":64,"k":128},"weight":{"bits":4},)"
                        R"("activation":{"dtype":"fp16"}})")
                .code(),
            "spec.unknown_field");
}

// [5, 1] is a matter of meaning: the schema cannot refuse it.
TEST(SpecParse, MRange) {
  EXPECT_NO_THROW(Spec::parse(changed(R"("n":64)", R"("n":64,"m":[5,1])")));
  for (const char* m : {"[1]", "[1,2,3]", "7", "null", "{}", "[]", "[0,1]", "[1,2147483648]"}) {
    const Error error = parse_error(changed(R"("n":64)", std::string(R"("n":64,"m":)") + m));
    EXPECT_EQ(error.problems().at(0).pointer.substr(0, 8), "/shape/m") << m;
  }
}

TEST(SpecParse, Names) {
  const auto named = [](std::string_view name) {
    return changed(R"("op")", R"("name":")" + std::string(name) + R"(","op")");
  };
  EXPECT_EQ(Spec::parse(named(std::string(64, 'x'))).name().size(), 64U);
  for (const std::string& name : {std::string(), std::string(65, 'x'), std::string("a b"),
                                  std::string("a\\n"), std::string("\\u0000"), std::string("é")}) {
    EXPECT_EQ(parse_error(named(name)).code(), "spec.bad_label") << name;
  }
}

TEST(SpecParse, OtherTypesAreErrors) {
  for (const char* text : {"null", "1", "true", "[]", "\"x\"", "[{}]"}) {
    EXPECT_EQ(parse_error(text).code(), "spec.wrong_type") << text;
  }
  EXPECT_EQ(parse_error(changed(R"({"bits":4})", "[4]")).code(), "spec.wrong_type");
}

TEST(SpecFromGemm, ChecksLikeParse) {
  GemmSpec gemm;
  gemm.shape.n = 64;
  gemm.shape.k = 128;
  EXPECT_EQ(Spec::from_gemm(gemm, "x").canonical_json(), Spec::parse(kSmallSpec).canonical_json());
  EXPECT_EQ(Spec::from_gemm(gemm, "x").name(), "x");
  gemm.shape.k = 0;
  gemm.weight.bits = 9;
  gemm.tile.m = 7;
  gemm.path = static_cast<Path>(-1);
  gemm.activation = DType::kFp32;
  try {
    Spec::from_gemm(gemm, "a b");
    FAIL();
  } catch (const Error& error) {
    std::vector<std::string> pointers;
    for (const Problem& problem : error.problems()) pointers.push_back(problem.pointer);
    EXPECT_EQ(pointers, (std::vector<std::string>{"/name", "/shape/k", "/weight/bits",
                                                  "/activation/dtype", "/tile/m", "/path"}));
  }
}

TEST(SpecWords, AreThoseOfJson) {
  EXPECT_EQ(to_string(Op::kGemm), "gemm");
  EXPECT_EQ(to_string(DType::kBf16), "bf16");
  EXPECT_EQ(to_string(WeightType::kUint), "uint");
  EXPECT_EQ(to_string(ZeroPoint::kInt), "int");
  EXPECT_EQ(to_string(Interleave::kFragment), "fragment");
  EXPECT_EQ(to_string(Activation::kGeluTanh), "gelu_tanh");
  EXPECT_EQ(to_string(Path::kTuring), "turing");
  EXPECT_EQ(to_string(static_cast<Path>(77)), "invalid");
}

}  // namespace
}  // namespace heddle
