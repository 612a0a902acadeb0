// An operation that the library does not have, added as every operation is: it must be parsed,
// planned, described, rendered, compiled and launched by code that does not know it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "generator/operations/kernel_argument.h"
#include "generator/operations/operation.h"
#include "generator/planner/explain.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "heddle/runtime.h"
#include "heddle/target.h"
#include "runtime/launch/kernel_state.h"
#include "tests/new_operation/operation/scale.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

constexpr char kSpec[] = R"({"heddle":1,"op":"scale","shape":{"columns":512},"factor":3})";

std::string text_of_error(const std::string& json) {
  try {
    resolve(Spec::parse(json), target_from_name("h100"));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(NewOperation, IsInTheListAndInTheSchema) {
  const Spec spec = Spec::parse(kSpec);
  EXPECT_EQ(to_string(spec.op()), "scale");
  EXPECT_EQ(static_cast<std::size_t>(spec.op()) + 1, every_operation().size());
  EXPECT_EQ(static_cast<const ScaleSpec*>(spec.fields())->columns, 512);
  EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
  EXPECT_EQ(spec.get_if<GemmSpec>(), nullptr);
  EXPECT_THROW(spec.gemm(), Error);
  const auto schema = nlohmann::json::parse(spec_schema());
  EXPECT_EQ(schema["oneOf"].back()["title"], "scale");
  EXPECT_TRUE(schema["oneOf"].back()["properties"].contains("factor"));
}

TEST(NewOperation, WhatIsWrongIsNamed) {
  EXPECT_NE(text_of_error(R"({"heddle":1,"op":"scale","shape":{"columns":510}})")
                .find("/shape/columns: no whole vectors of four"),
            std::string::npos);
  EXPECT_NE(text_of_error(R"({"heddle":1,"op":"scale","shape":{"columns":512},"factor":0})")
                .find("/factor"),
            std::string::npos);
  const std::string unknown = text_of_error(R"({"heddle":1,"op":"scal","shape":{"columns":512}})");
  EXPECT_NE(unknown.find("did you mean \"scale\"?"), std::string::npos) << unknown;
}

TEST(NewOperation, IsPlannedDescribedAndRendered) {
  const Plan plan = resolve(Spec::parse(kSpec), target_from_name("h100"));
  ASSERT_EQ(plan.kernels.size(), 1U);
  EXPECT_EQ(plan.launch(0, {4}).grid_x, 8U);
  const std::string text = describe(plan);
  for (const char* part : {"Y[M, 512] = 3 * X", "heddle_scale_n512", "a thread takes an element"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  const auto json = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_EQ(json["spec"]["op"], "scale");
  EXPECT_EQ(json["kernels"][0]["family"], "scale");
  EXPECT_NE(render(plan, 0).text.find("Config::factor"), std::string::npos);
}

TEST(NewOperation, IsExplained) {
  const Plan plan = resolve(Spec::parse(kSpec), target_from_name("h100"));
  const Explanation one = explain_choice(plan, LaunchSize{4});
  ASSERT_EQ(one.candidates.size(), 1U);
  EXPECT_EQ(one.candidates.front().plan.kernels.front().name, "heddle_scale_n512");
  EXPECT_EQ(one.chosen_range.min, 1);
  EXPECT_EQ(one.why, "the family has no other for them");
  EXPECT_TRUE(one.absent.empty());
}

class NewOperationOnDevice : public testing::FakeDevice {};

TEST_F(NewOperationOnDevice, IsCompiledAndLaunched) {
  Runtime runtime(options_);
  const testing::EngineContext context;
  const Kernel kernel = runtime.kernel(Spec::parse(kSpec));
  EXPECT_EQ(compilations_, 1);
  const void* x = testing::memory(0x1000).data;
  const void* y = testing::memory(0x2000).data;
  const int m = 4;
  ArgumentList arguments;
  arguments.set(KernelArgument::kX, &x);
  arguments.set(KernelArgument::kY, &y);
  arguments.set(KernelArgument::kM, &m);
  kernel.state().launch(0, {m}, arguments, nullptr);
  ASSERT_EQ(fake::launches().size(), 1U);
  EXPECT_EQ(fake::launches()[0].kernel, "heddle_scale_n512");
  EXPECT_EQ(fake::launches()[0].config.gridDimX, 8U);
}

}  // namespace
}  // namespace heddle
