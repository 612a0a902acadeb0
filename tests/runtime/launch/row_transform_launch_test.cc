#include "runtime/launch/row_transform_launch.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/runtime/launch/launch_refusals.h"

namespace heddle {
namespace {

Plan row_plan(const std::string& work) {
  return resolve(Spec::parse(R"({"heddle":1,"op":"row_transform","shape":{"columns":512,)"
                             R"("m":[2,1000]},"input":{"dtype":"bf16"},)" +
                             work + "}"),
                 target_from_name("h200"));
}

Plan norm(const std::string& more = "") {
  return row_plan(R"("norm":{"type":"layer","epsilon":1e-5)" + more);
}

const Plan& full_norm() {
  static const Plan plan = norm(R"(,"bias":true},"residual":true)");
  return plan;
}

Plan gate(const std::string& order) {
  return row_plan(R"("gate":{"activation":"silu","order":")" + order + R"("})");
}

RowTransformArgs row_args() {
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
  RowTransformArgs args = row_args();
  args.residual = {};
  args.weight = args.bias = {};
  return args;
}

std::string of_norm(const std::function<void(RowTransformArgs&)>& change) {
  return refusal_after(full_norm(), row_args(), change);
}

TEST(RowTransformLaunch, WantsItsPointers) {
  EXPECT_EQ(of_norm([](auto&) {}), "");
  EXPECT_EQ(of_norm([](auto& a) { a.x = {}; }), "launch.missing");
  EXPECT_EQ(of_norm([](auto& a) { a.y = memory(0x200008); }), "launch.misaligned");
  EXPECT_EQ(of_norm([](auto& a) { a.residual = {}; }), "launch.missing");
  EXPECT_EQ(of_norm([](auto& a) { a.weight = {}; }), "launch.missing");
  EXPECT_EQ(of_norm([](auto& a) { a.bias = {}; }), "launch.missing");
  const Plan plain = norm("}");
  EXPECT_EQ(refusal(plain, row_args()), "launch.unexpected");
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
  EXPECT_EQ(of_norm([](auto& a) {
              a.y = memory(0x1003f0);
              a.x_stride = a.y_stride = 1024;
            }),
            "launch.overlap")
      << "the last 16 bytes of a row of X";
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

Plan quantized(const std::string& output, const std::string& work = "") {
  return row_plan(work + R"("output":{"dtype":)" + output + '}');
}
RowTransformArgs quantized_args() {
  RowTransformArgs args = gate_args();
  args.scales = memory(0x600000);
  return args;
}

TEST(RowTransformLaunch, WantsWhatEightBitsNeed) {
  const Plan token = quantized(R"("int8","granularity":"token")");
  const auto of_token = [&](const std::function<void(RowTransformArgs&)>& change) {
    return refusal_after(token, quantized_args(), change);
  };
  EXPECT_EQ(of_token([](auto&) {}), "");
  EXPECT_EQ(of_token([](auto& a) { a.scales = {}; }), "launch.missing");
  EXPECT_EQ(of_token([](auto& a) { a.scales = memory(0x600004); }), "launch.misaligned");
  EXPECT_EQ(of_token([](auto& a) { a.zero_points = memory(0x700000); }), "launch.unexpected");
  EXPECT_EQ(of_token([](auto& a) { a.pre_scale = memory(0x700000); }), "launch.unexpected");
  EXPECT_EQ(of_token([](auto& a) { a.tensor_scale = memory(0x700000); }), "launch.unexpected");
  EXPECT_EQ(of_token([](auto& a) { a.scale_stride = 8; }), "launch.size") << "there is no matrix";
  EXPECT_EQ(of_token([](auto& a) { a = {}; }), "") << "of empty tensors";
  const Plan zeros =
      quantized(R"("int8","granularity":"token","symmetric":false,"pre_scale":true)");
  EXPECT_EQ(refusal(zeros, quantized_args()), "launch.missing");
  EXPECT_EQ(refusal_after(zeros, quantized_args(),
                          [](auto& a) {
                            a.zero_points = memory(0x700000);
                            a.pre_scale = memory(0x800000);
                          }),
            "");
  const Plan tensor = quantized(R"("fp8_e4m3","granularity":"tensor")");
  EXPECT_EQ(refusal(tensor, quantized_args()), "launch.missing");
  EXPECT_EQ(refusal_after(tensor, gate_args(), [](auto& a) { a.tensor_scale = memory(0x700004); }),
            "");
  EXPECT_EQ(refusal_after(tensor, gate_args(), [](auto& a) { a.tensor_scale = memory(0x700002); }),
            "launch.misaligned");
  EXPECT_EQ(refusal_after(norm("}"), gate_args(),
                          [](auto& a) {
                            a.weight = memory(0x400000);
                            a.scales = memory(0x600000);
                          }),
            "launch.unexpected")
      << "16 bits have no scales";
}

// 512 columns are four groups.
TEST(RowTransformLaunch, WantsStridesOfScalesThatFit) {
  const auto of = [](const Plan& plan, std::int64_t stride) {
    return refusal_after(plan, quantized_args(), [&](auto& a) { a.scale_stride = stride; });
  };
  const Plan rows = quantized(R"("int8","granularity":"group")");
  for (const std::int64_t good : {0, 4, 5, 1000}) EXPECT_EQ(of(rows, good), "") << good;
  for (const std::int64_t bad : {std::int64_t{-4}, std::int64_t{3}, std::int64_t{1} << 31}) {
    EXPECT_EQ(of(rows, bad), "launch.size") << bad;
  }
  // For seven rows.
  const Plan columns =
      quantized(R"("fp8_e4m3","granularity":"group","scale_layout":"column_major")");
  for (const std::int64_t good : {0, 8, 12}) EXPECT_EQ(of(columns, good), "") << good;
  for (const std::int64_t bad : {-8, 4, 7, 10}) EXPECT_EQ(of(columns, bad), "launch.size") << bad;
  const auto stride = [](const Plan& plan, std::int64_t given) {
    RowTransformArgs args = quantized_args();
    args.scale_stride = given;
    return row_transform_parameters(plan, args).scale_stride;
  };
  EXPECT_EQ(stride(rows, 0), 4);
  EXPECT_EQ(stride(rows, 9), 9);
  EXPECT_EQ(stride(columns, 0), 8);
  EXPECT_EQ(stride(columns, 12), 12);
}

TEST(RowTransformLaunch, EightBitsHaveAPlaceOfTheirOwn) {
  const Plan token = quantized(R"("int8","granularity":"token","symmetric":false,"pre_scale":true)",
                               R"("residual":true,"norm":{"type":"rms","epsilon":1e-5},)");
  RowTransformArgs args = row_args();
  args.bias = {};
  args.scales = memory(0x600000);
  args.zero_points = memory(0x700000);
  args.pre_scale = memory(0x800000);
  EXPECT_EQ(refusal(token, args), "");
  const auto of = [&](const std::function<void(RowTransformArgs&)>& change) {
    return refusal_after(token, args, change);
  };
  EXPECT_EQ(of([](auto& a) { a.y = memory(0x100000); }), "launch.overlap") << "not in place";
  EXPECT_EQ(of([](auto& a) { a.y = memory(0x100000 + 512); }), "launch.overlap");
  // Rows of X are 1024 bytes, those of Y 512.
  const auto strided_x = [](auto& a) { a.x_stride = 1024; };
  const auto y_at = [&](std::uintptr_t place, std::int64_t stride) {
    return of([&](auto& a) {
      strided_x(a);
      a.y = memory(place);
      a.y_stride = stride;
    });
  };
  EXPECT_EQ(y_at(0x100400, 0), "launch.overlap") << "dense, over gaps and rows of X";
  EXPECT_EQ(y_at(0x100400, 2048), "") << "in the gaps of X";
  EXPECT_EQ(y_at(0x100600, 2048), "") << "up to the next row of X";
  EXPECT_EQ(y_at(0x100610, 2048), "launch.overlap");
  EXPECT_EQ(y_at(0x100410, 1536), "launch.overlap") << "other strides, some of whose rows meet";
  EXPECT_EQ(of([](auto& a) { a.scales = memory(0x200000); }), "launch.overlap");
  EXPECT_EQ(of([](auto& a) { a.scales = memory(0x100010); }), "launch.overlap");
  EXPECT_EQ(of([](auto& a) { a.scales = memory(0x700010); }), "launch.overlap");
  EXPECT_EQ(of([](auto& a) { a.zero_points = memory(0x300000); }), "launch.overlap");
  EXPECT_EQ(of([](auto& a) { a.pre_scale = memory(0x200000); }), "launch.overlap");
  EXPECT_EQ(of([](auto& a) { a.pre_scale = a.weight; }), "") << "both are read alone";
  // Behind seven rows of codes.
  EXPECT_EQ(of([](auto& a) { a.scales = memory(0x200000 + 7 * 512); }), "");
}

TEST(RowTransformLaunch, StridesAreBytes) {
  const Plan halves = gate("halves");
  RowTransformArgs args = gate_args();
  EXPECT_EQ(row_transform_parameters(halves, args).x_stride, 2 * 1024);
  EXPECT_EQ(row_transform_parameters(halves, args).y_stride, 2 * 512);
  args.x_stride = 4096;
  EXPECT_EQ(row_transform_parameters(halves, args).x_stride, 2 * 4096);
  EXPECT_EQ(row_transform_parameters(quantized(R"("int8","granularity":"token")"), args).y_stride,
            512);
}

}  // namespace
}  // namespace heddle
