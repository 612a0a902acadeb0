#include <gtest/gtest.h>

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
