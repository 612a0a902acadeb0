// What the spec of row_transform has of its own: a number that is no integer, and an output that
// need not have the type of the input.
#include <limits>

#include "tests/generator/spec/spec_helpers.h"

namespace heddle {
namespace {

std::string norm_spec_text(const std::string& epsilon) {
  return R"({"heddle":1,"op":"row_transform","shape":{"columns":64},"input":{"dtype":"bf16"},)"
         R"("norm":{"type":"rms","epsilon":)" +
         epsilon + "}}";
}

TEST(SpecRow, WritesEveryDefault) {
  EXPECT_EQ(Spec::parse(norm_spec_text("0.00001")).canonical_json(),
            R"({"heddle":1,"op":"row_transform","shape":{"columns":64,"m":[1,65536]},)"
            R"("input":{"dtype":"bf16"},"residual":false,)"
            R"("norm":{"type":"rms","epsilon":1e-05,"weight_offset":0,"bias":false},)"
            R"("gate":{"order":"none","activation":"none"},"output":{"dtype":"bf16"}})");
}

// However it is written, to as many digits as FP32 has.
TEST(SpecRow, SameNumberSameText) {
  const std::string text = Spec::parse(norm_spec_text("1e-6")).canonical_json();
  for (const char* same : {"0.000001", "1.0E-6", "10e-7", "1.00000000001e-6"}) {
    EXPECT_EQ(Spec::parse(norm_spec_text(same)).canonical_json(), text) << same;
  }
  EXPECT_NE(Spec::parse(norm_spec_text("1.0001e-6")).canonical_json(), text);
  EXPECT_EQ(Spec::parse(text).canonical_json(), text);
}

std::string output_text(const std::string& output) {
  return R"({"heddle":1,"op":"row_transform","shape":{"columns":64},"input":{"dtype":"bf16"},)"
         R"("output":{)" +
         output + "}}";
}

TEST(SpecRow, ReadsAnOutputOfEightBits) {
  const Spec spec = Spec::parse(
      output_text(R"("dtype":"fp8_e5m2","granularity":"group","symmetric":false,)"
                  R"("scale_dtype":"e8m0","scale_layout":"column_major","pre_scale":true)"));
  const RowOutputSpec& output = spec.row_transform().output;
  EXPECT_EQ(output.dtype, RowDtype::kFp8E5m2);
  EXPECT_EQ(output.granularity, RowGranularity::kGroup);
  EXPECT_FALSE(output.symmetric);
  EXPECT_EQ(output.scale_dtype, RowScaleDtype::kE8m0);
  EXPECT_EQ(output.scale_layout, ScaleLayout::kColumnMajor);
  EXPECT_TRUE(output.pre_scale);
  EXPECT_TRUE(output.is_quantized());
  EXPECT_NE(spec.canonical_json().find(
                R"("output":{"dtype":"fp8_e5m2","granularity":"group","symmetric":false,)"
                R"("scale_dtype":"e8m0","scale_layout":"column_major","pre_scale":true}})"),
            std::string::npos);
  EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
}

// What has its default is not written, so that specs from before there were 8 bits keep their text.
TEST(SpecRow, LeavesOutWhatIsNotGivenOfAnOutput) {
  const std::string text =
      Spec::parse(
          output_text(R"("dtype":"int8","granularity":"token","symmetric":true,)"
                      R"("scale_dtype":"fp32","scale_layout":"row_major","pre_scale":false)"))
          .canonical_json();
  EXPECT_NE(text.find(R"("output":{"dtype":"int8","granularity":"token"}})"), std::string::npos)
      << text;
}

TEST(SpecRow, RefusesUnknownWordsOfAnOutput) {
  for (const char* dtype : {"fp32", "e8m0", "e4m3", "uint8", "int4"}) {
    const Error error = parse_error(
        output_text(std::string(R"("dtype":")") + dtype + R"(","granularity":"token")"));
    EXPECT_EQ(error.code(), "spec.unknown_word") << dtype;
    ASSERT_EQ(error.problems().size(), 1U);
    EXPECT_EQ(error.problems()[0].pointer, "/output/dtype");
    EXPECT_EQ(error.problems()[0].allowed, R"("fp16", "bf16", "int8", "fp8_e4m3" or "fp8_e5m2")");
  }
  const auto pointer_of = [](const std::string& field) {
    const Error error = parse_error(output_text(R"("dtype":"int8",)" + field));
    return error.problems().at(0).pointer;
  };
  EXPECT_EQ(pointer_of(R"("granularity":"channel")"), "/output/granularity");
  EXPECT_EQ(pointer_of(R"("scale_dtype":"fp16")"), "/output/scale_dtype");
  EXPECT_EQ(pointer_of(R"("scale_layout":"columns")"), "/output/scale_layout");
  EXPECT_EQ(pointer_of(R"("symmetric":1)"), "/output/symmetric");
  EXPECT_EQ(pointer_of(R"("pre_scale":"yes")"), "/output/pre_scale");
  EXPECT_EQ(pointer_of(R"("group_size":128)"), "/output/group_size");
}

TEST(SpecRow, NumbersHaveARange) {
  const auto of = [](const std::string& epsilon) {
    return Spec::parse(norm_spec_text(epsilon)).row_transform().norm.epsilon;
  };
  EXPECT_EQ(of("1"), 1.0F);
  EXPECT_EQ(of("1e-12"), 1e-12F);
  for (const char* end : {"1", "1e-12"}) {
    const std::string text = Spec::parse(norm_spec_text(end)).canonical_json();
    EXPECT_EQ(Spec::parse(text).canonical_json(), text);
  }
  for (const char* beyond : {"0", "-1e-6", "9.999999e-13", "1.00000000001", "2", "1e300"}) {
    const Error error = parse_error(norm_spec_text(beyond));
    EXPECT_EQ(error.code(), "spec.out_of_range") << beyond;
    ASSERT_EQ(error.problems().size(), 1U);
    EXPECT_EQ(error.problems()[0].pointer, "/norm/epsilon");
    EXPECT_EQ(error.problems()[0].allowed, "numbers from 1e-12 to 1");
  }
  EXPECT_EQ(parse_error(norm_spec_text(R"("1e-6")")).code(), "spec.wrong_type");
  EXPECT_EQ(parse_error(norm_spec_text("true")).code(), "spec.wrong_type");
}

TEST(SpecRow, StructsAreChecked) {
  RowTransformSpec spec;
  spec.shape.columns = 64;
  spec.norm.type = NormType::kRms;
  for (const float bad : {0.0F, -1.0F, 2.0F, std::numeric_limits<float>::quiet_NaN()}) {
    spec.norm.epsilon = bad;
    EXPECT_THROW(Spec::from_row_transform(spec), Error) << bad;
  }
  spec.norm.epsilon = 1e-12F;
  EXPECT_EQ(Spec::from_row_transform(spec).row_transform().norm.epsilon, 1e-12F);
}

}  // namespace
}  // namespace heddle
