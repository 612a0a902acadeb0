#include "runtime/row_transform_launch.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/runtime/launch_refusals.h"

namespace heddle {
namespace {

Plan plan_of(const std::string& work) {
  return resolve(Spec::parse(R"({"heddle":1,"op":"row_transform","shape":{"columns":512,)"
                             R"("m":[2,1000]},"input":{"dtype":"bf16"},)" +
                             work + "}"),
                 target_from_name("h200"));
}

Plan norm(const std::string& more = "") {
  return plan_of(R"("norm":{"type":"layer","epsilon":1e-5)" + more);
}

const Plan& full_norm() {
  static const Plan plan = norm(R"(,"bias":true},"residual":true)");
  return plan;
}

Plan gate(const std::string& order) {
  return plan_of(R"("gate":{"activation":"silu","order":")" + order + R"("})");
}

RowTransformArgs good_args() {
  RowTransformArgs args;
  args.x = memory(0x100000);
  args.y = memory(0x200000);
  args.residual = memory(0x300000);
  args.weight = memory(0x400000);
  args.bias = memory(0x500000);
  args.m = 7;
  return args;
}

RowTransformArgs gate_args() {
  RowTransformArgs args = good_args();
  args.residual = {};
  args.weight = args.bias = {};
  return args;
}

std::string refusal_after(const Plan& plan, RowTransformArgs args,
                          const std::function<void(RowTransformArgs&)>& change) {
  change(args);
  return refusal(plan, args);
}

std::string of_norm(const std::function<void(RowTransformArgs&)>& change) {
  return refusal_after(full_norm(), good_args(), change);
}

TEST(RowTransformLaunch, WantsItsPointers) {
  EXPECT_EQ(of_norm([](auto&) {}), "");
  EXPECT_EQ(of_norm([](auto& a) { a.x = {}; }), "launch.missing");
  EXPECT_EQ(of_norm([](auto& a) { a.y = memory(0x200008); }), "launch.misaligned");
  EXPECT_EQ(of_norm([](auto& a) { a.residual = {}; }), "launch.missing");
  EXPECT_EQ(of_norm([](auto& a) { a.weight = {}; }), "launch.missing");
  EXPECT_EQ(of_norm([](auto& a) { a.bias = {}; }), "launch.missing");
  const Plan plain = norm("}");
  EXPECT_EQ(refusal(plain, good_args()), "launch.unexpected");
  EXPECT_EQ(refusal_after(plain, gate_args(), [](auto& a) { a.weight = memory(0x400000); }), "");
  EXPECT_EQ(refusal(gate("halves"), gate_args()), "");
  EXPECT_EQ(refusal_after(gate("halves"), gate_args(), [](auto& a) { a.weight = memory(0x40); }),
            "launch.unexpected");
}

TEST(RowTransformLaunch, WantsSizesThatFit) {
  EXPECT_EQ(of_norm([](auto& a) { a.m = 1; }), "launch.m");
  EXPECT_EQ(of_norm([](auto& a) { a.m = 1001; }), "launch.m");
  EXPECT_EQ(of_norm([](auto& a) { a.m = -1; }), "launch.m");
  EXPECT_EQ(of_norm([](auto& a) { a.m = 0; }), "") << "nothing is launched";
  EXPECT_EQ(of_norm([](auto& a) { a = {}; }), "") << "of empty tensors neither";
  EXPECT_EQ(of_norm([](auto& a) { a.x_stride = 504; }), "launch.size");
  EXPECT_EQ(of_norm([](auto& a) { a.x_stride = 516; }), "launch.size");
  EXPECT_EQ(of_norm([](auto& a) { a.y_stride = std::int64_t{1} << 31; }), "launch.size");
  EXPECT_EQ(of_norm([](auto& a) { a.y_stride = 520; }), "");
  // A row of X has gates, too.
  const Plan halves = gate("halves");
  EXPECT_EQ(refusal_after(halves, gate_args(), [](auto& a) { a.x_stride = 1016; }), "launch.size");
  EXPECT_EQ(refusal_after(halves, gate_args(), [](auto& a) { a.x_stride = 1024; }), "");
}

TEST(RowTransformLaunch, SaysWhatMayBeInOnePlace) {
  const auto in_place = [](RowTransformArgs& a) { a.y = memory(0x100000); };
  EXPECT_EQ(of_norm(in_place), "");
  EXPECT_EQ(of_norm([&](auto& a) {
              in_place(a);
              a.x_stride = 1024;
            }),
            "launch.overlap");
  EXPECT_EQ(of_norm([](auto& a) { a.residual = a.y; }), "launch.overlap");
  EXPECT_EQ(of_norm([](auto& a) { a.residual = memory(0x100000); }), "launch.overlap");
  EXPECT_EQ(of_norm([](auto& a) { a.residual = memory(0x100010); }), "launch.overlap");
  EXPECT_EQ(of_norm([](auto& a) { a.weight = memory(0x200400); }), "launch.overlap");
  EXPECT_EQ(of_norm([](auto& a) { a.bias = memory(0x300400); }), "launch.overlap");
  EXPECT_EQ(of_norm([](auto& a) { a.y = memory(0x100010); }), "launch.overlap");
  // Parts of the same wider rows.
  EXPECT_EQ(of_norm([](auto& a) {
              a.y = memory(0x100400);
              a.x_stride = a.y_stride = 1024;
            }),
            "");
  EXPECT_EQ(refusal_after(gate("interleaved"), gate_args(), in_place), "launch.overlap");
  EXPECT_EQ(refusal_after(gate("halves"), gate_args(), in_place), "launch.overlap")
      << "dense rows of X are twice as long";
  EXPECT_EQ(refusal_after(gate("halves"), gate_args(),
                          [&](auto& a) {
                            in_place(a);
                            a.y_stride = 1024;
                          }),
            "");
}

TEST(RowTransformLaunch, StridesAreBytes) {
  const Plan halves = gate("halves");
  RowTransformArgs args = gate_args();
  EXPECT_EQ(row_transform_parameters(halves, args).x_stride, 2 * 1024);
  EXPECT_EQ(row_transform_parameters(halves, args).y_stride, 2 * 512);
  args.x_stride = 4096;
  EXPECT_EQ(row_transform_parameters(halves, args).x_stride, 2 * 4096);
}

}  // namespace
}  // namespace heddle
