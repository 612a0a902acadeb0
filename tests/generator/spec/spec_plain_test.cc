// Weights that were not quantised: what a spec says of them, and what it must not say.
#include "generator/operations/gemm/gemm.h"
#include "generator/operations/weight_ops/weight_ops.h"
#include "tests/generator/spec/spec_helpers.h"
#include "tests/generator/spec/spec_pointers.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

std::string plain_spec_text(std::string_view weight, std::string_view dtype = "fp16") {
  return R"({"heddle":1,"op":"gemm","shape":{"n":64,"k":160},"weight":{)" + std::string(weight) +
         R"(},"activation":{"dtype":")" + std::string(dtype) + R"("}})";
}

TEST(SpecPlain, BitsAreImplied) {
  for (const char* type : {"fp16", "bf16"}) {
    const std::string word = std::string(R"("type":")") + type + '"';
    const Spec spec = Spec::parse(plain_spec_text(word, type));
    EXPECT_EQ(spec.weight().bits, 16);
    EXPECT_EQ(to_string(spec.weight().type), type);
    EXPECT_FALSE(spec.weight().has_scales());
    EXPECT_EQ(Spec::parse(plain_spec_text(R"("bits":16,)" + word, type)).canonical_json(),
              spec.canonical_json());
  }
  EXPECT_EQ(parse_error(plain_spec_text(R"("type":"e4m3")")).problems().at(0).pointer,
            "/weight/bits");
}

// Whatever the type of X: there are no scales to have it.
TEST(SpecPlain, CanonicalTextHasNothingOfScales) {
  const Spec spec = Spec::parse(plain_spec_text(R"("type":"bf16")", "bf16"));
  const std::string text = spec.canonical_json();
  EXPECT_NE(text.find(R"("weight":{"bits":16,"type":"bf16","interleave":"fragment"},)"), text.npos)
      << text;
  EXPECT_EQ(Spec::parse(text).canonical_json(), text);
  GemmSpec gemm;
  gemm.shape = {64, 160, 1, kDefaultMaxM};
  gemm.weight = plain_weight(DType::kBf16);
  gemm.activation = DType::kBf16;
  EXPECT_EQ(Spec::from_gemm(gemm).canonical_json(), text);
}

TEST(SpecPlain, FieldsOfScalesAreRefusedByName) {
  for (const auto& [name, value] : {std::pair{"group_size", "128"},
                                    {"group_size", "-1"},
                                    {"group_offset", "0"},
                                    {"zero_point", R"("none")"},
                                    {"scale_dtype", R"("fp16")"},
                                    {"tensor_scale", "false"}}) {
    const std::string field = std::string("\"") + name + "\":" + value;
    // Whichever comes first.
    for (const std::string& weight : {field + R"(,"type":"fp16")", R"("type":"fp16",)" + field}) {
      const Error error = parse_error(plain_spec_text(weight));
      ASSERT_EQ(error.problems().size(), 1u) << error.what();
      const Problem& problem = error.problems()[0];
      EXPECT_EQ(error.code(), "spec.unknown_field");
      EXPECT_EQ(problem.pointer, std::string("/weight/") + name);
      EXPECT_EQ(problem.message, "there is none where /weight/type is \"fp16\"");
      EXPECT_EQ(problem.value, value);
      EXPECT_EQ(problem.allowed, "no such field");
    }
  }
}

TEST(SpecPlain, MembersOfStructsKeepTheirDefaults) {
  GemmSpec good;
  good.shape = {64, 160, 1, kDefaultMaxM};
  good.weight = plain_weight(DType::kFp16);
  EXPECT_NO_THROW(Spec::from_gemm(good));
  const auto refused = [&good](auto change) {
    GemmSpec gemm = good;
    change(gemm.weight);
    try {
      Spec::from_gemm(gemm);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "spec.unknown_field");
      return error.problems().at(0).pointer;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused([](WeightSpec& w) { w.group_size = 32; }), "/weight/group_size");
  EXPECT_EQ(refused([](WeightSpec& w) { w.group_size = kPerChannel; }), "/weight/group_size");
  EXPECT_EQ(refused([](WeightSpec& w) { w.group_offset = 16; }), "/weight/group_offset");
  EXPECT_EQ(refused([](WeightSpec& w) { w.zero_point = ZeroPoint::kInt; }), "/weight/zero_point");
  EXPECT_EQ(refused([](WeightSpec& w) { w.scale_dtype = DType::kFp32; }), "/weight/scale_dtype");
  EXPECT_EQ(refused([](WeightSpec& w) { w.tensor_scale = true; }), "/weight/tensor_scale");
}

TEST(SpecPlain, MeaningOfTheOtherFields) {
  GemmSpec gemm;
  gemm.shape = {64, 160, 1, kDefaultMaxM};
  gemm.weight = plain_weight(DType::kFp16);
  EXPECT_EQ(pointers_of(check_meaning(gemm)), Pointers{}) << "no group has to divide K";
  gemm.activation = DType::kBf16;
  EXPECT_EQ(pointers_of(check_meaning(gemm)), Pointers{"/weight/type"});
  gemm.weight = plain_weight(DType::kBf16);
  EXPECT_EQ(pointers_of(check_meaning(gemm)), Pointers{});
  gemm.weight.bits = 8;
  EXPECT_EQ(pointers_of(check_meaning(gemm)), Pointers{"/weight/bits"});
  gemm.weight.bits = 16;
  gemm.weight.interleave = Interleave::kLinear;
  EXPECT_EQ(pointers_of(check_meaning(gemm)), Pointers{"/weight/interleave"});
  gemm.weight = {};
  gemm.weight.bits = 16;
  EXPECT_EQ(pointers_of(check_meaning(gemm)), (Pointers{"/weight/bits", "/weight/group_size"}));
}

TEST(SpecPlain, OnlyGemmsTakeThem) {
  WeightOpSpec spec;
  spec.shape = {64, 160};
  spec.weight = plain_weight(DType::kFp16);
  for (const Op op : {Op::kDequantize, Op::kQuantizeWeight}) {
    EXPECT_EQ(pointers_of(check_meaning(op, spec)), std::vector<std::string>{"/weight/type"})
        << to_string(op);
  }
  spec.format = CheckpointFormat::kGptq;
  const std::vector<std::string> found = pointers_of(check_meaning(Op::kRepack, spec));
  EXPECT_EQ(found.at(0), "/weight/type");
}

}  // namespace
}  // namespace heddle
