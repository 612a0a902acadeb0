#include <gtest/gtest.h>

#include <tuple>

#include "generator/render/embedded.h"
#include "generator/render/template_text.h"
#include "heddle/error.h"
#include "heddle/inspect/source.h"

namespace heddle {
namespace {

Plan some_plan() {
  GemmSpec spec;
  spec.shape.n = 256;
  spec.shape.k = 512;
  return resolve(Spec::from_gemm(spec), target_from_name("h200"));
}

TEST(Render, IsPureAndNamesTheFileAfterItsContent) {
  const Source a = render(some_plan(), 0);
  const Source b = render(some_plan(), 0);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.file_name, b.file_name);
  EXPECT_NE(render(some_plan(), 1).file_name, a.file_name);
}

TEST(Render, IncludesNothingAndHoldsEveryFileOnce) {
  const std::string text = render(some_plan(), 0).text;
  EXPECT_EQ(text.find("#include"), std::string::npos);
  EXPECT_EQ(text.find("#pragma once"), std::string::npos);
  const std::string marker = "// ---- primitives/types.cuh";
  ASSERT_NE(text.find(marker), std::string::npos);
  EXPECT_EQ(text.find(marker), text.rfind(marker));
}

TEST(Render, BannerHoldsSpecTargetAndDecodePlan) {
  const Plan plan = some_plan();
  const std::string text = render(plan, 0).text;
  EXPECT_NE(text.find(plan.spec.canonical_json()), std::string::npos);
  EXPECT_NE(text.find("target: sm_90a"), std::string::npos);
  EXPECT_NE(text.find("immLut 0xea"), std::string::npos);
  EXPECT_NE(text.find("extern \"C\" __global__"), std::string::npos);
}

TEST(Render, ANameIsNoPartOfTheText) {
  const Plan plan = some_plan();
  Plan named = resolve(Spec::from_gemm(plan.spec.gemm(), "qkv_proj"), plan.target);
  EXPECT_EQ(render(plan, 0).text, render(named, 0).text);
}

// The kernel of wgmma for up to `m` tokens, one tile of which has 64 tokens, 128 rows and 256
// columns of a stage.
Source of_any_shape(std::int64_t n, std::int64_t k, std::int64_t m) {
  GemmSpec spec;
  spec.shape = {n, k, 9, m};
  spec.path = Path::kHopper;
  spec.tile.m = 64;
  spec.tile.n = 128;
  spec.tile.k = 256;
  spec.tile.split_k = 1;
  return render(resolve(Spec::from_gemm(spec), target_from_name("h200")), 0);
}

TEST(Render, KernelsWithWgmmaAreOneTextForAllShapes) {
  const Source one = of_any_shape(4096, 4096, 64);
  EXPECT_EQ(one.text.find("4096"), std::string::npos);
  for (const auto& [n, k, m] : {std::tuple{128, 256, 64}, {28672, 8192, 64}, {4096, 4096, 33}}) {
    const Source other = of_any_shape(n, k, m);
    EXPECT_EQ(other.text, one.text) << n << " x " << k << ", M " << m;
    EXPECT_EQ(other.kernel_name, one.kernel_name);
  }
  EXPECT_NE(of_any_shape(4104, 4096, 64).text, one.text) << "rows that end inside of a tile";
  EXPECT_NE(of_any_shape(4096, 4224, 64).text, one.text) << "a last stage of one chunk";
  EXPECT_NE(of_any_shape(4096, 4096, 65).text, one.text) << "more tokens than a tile's";
}

// Every instruction lives in primitives/; a family that needs one gets a wrapper there.
TEST(Templates, InlineAssemblyIsOnlyInPrimitives) {
  for (const auto& [path, text] : embedded_templates()) {
    if (path.rfind("primitives/", 0) == 0) continue;
    EXPECT_EQ(text.find("asm("), std::string::npos) << path;
    EXPECT_EQ(text.find("asm volatile"), std::string::npos) << path;
  }
}

TEST(Templates, UnknownTemplateIsAnError) { EXPECT_THROW(expand_template("no/such.cuh"), Error); }

}  // namespace
}  // namespace heddle
