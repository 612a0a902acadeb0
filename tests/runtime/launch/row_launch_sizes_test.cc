// Launches of row_transform refuse memory that is a byte too small, and take what is just large
// enough.
#include <gtest/gtest.h>

#include <cstdint>

#include "heddle/inspect/plan.h"
#include "runtime/launch/row_transform_launch.h"
#include "tests/runtime/launch/launch_refusals.h"
#include "tests/runtime/launch_size_checks.h"

namespace heddle {
namespace {

using testing::expect_each_is_needed;
using testing::Sizes;

TEST(LaunchSizes, OfRowTransform) {
  RowTransformSpec spec;
  spec.shape = {512, 1, 64};
  spec.norm = {NormType::kLayer, 1e-5F, 0, true};
  spec.residual = true;
  Plan plan;
  plan.spec = Spec::from_row_transform(spec);
  RowTransformArgs args;
  args.m = 3;
  args.y_stride = 520;
  args.x = memory(0x100000, 3 * 512 * 2);
  args.y = memory(0x200000, (2 * 520 + 512) * 2);
  args.residual = memory(0x300000, 3 * 512 * 2);
  args.weight = memory(0x400000, 512 * 2);
  args.bias = memory(0x500000, 512 * 2);
  expect_each_is_needed([&] { validate(plan, args); }, {{"x", &args.x.bytes},
                                                        {"y", &args.y.bytes},
                                                        {"residual", &args.residual.bytes},
                                                        {"weight", &args.weight.bytes},
                                                        {"bias", &args.bias.bytes}});
}

// Three rows of 264 columns: two groups of 128 and one of 8.
TEST(LaunchSizes, OfRowTransformOfEightBits) {
  const auto check = [](RowOutputSpec output, std::int64_t scale_stride, std::size_t scale_bytes) {
    RowTransformSpec spec;
    spec.shape.columns = 264;
    spec.output = output;
    Plan plan;
    plan.spec = Spec::from_row_transform(spec);
    RowTransformArgs args;
    args.m = 3;
    args.y_stride = 280;
    args.scale_stride = scale_stride;
    args.x = memory(0x100000, 3 * 264 * 2);
    args.y = memory(0x200000, 2 * 280 + 264);
    Sizes sizes = {{"x", &args.x.bytes}, {"y", &args.y.bytes}};
    if (output.pre_scale) {
      args.pre_scale = memory(0x300000, 264 * 2);
      sizes.emplace_back("pre_scale", &args.pre_scale.bytes);
    }
    if (output.granularity == RowGranularity::kTensor) {
      args.tensor_scale = memory(0x400004, 4);
      sizes.emplace_back("tensor_scale", &args.tensor_scale.bytes);
    } else {
      args.scales = memory(0x500000, scale_bytes);
      sizes.emplace_back("scales", &args.scales.bytes);
    }
    if (!output.symmetric) {
      args.zero_points = memory(0x600000, 3 * 4);
      sizes.emplace_back("zero_points", &args.zero_points.bytes);
    }
    expect_each_is_needed([&] { validate(plan, args); }, sizes);
  };
  RowOutputSpec output;
  output.dtype = RowDtype::kFp8E4m3;
  output.granularity = RowGranularity::kTensor;
  output.pre_scale = true;
  check(output, 0, 0);
  output.granularity = RowGranularity::kGroup;
  check(output, 0, 3 * 3 * 4);
  check(output, 5, (2 * 5 + 3) * 4);
  output.scale_layout = ScaleLayout::kColumnMajor;
  check(output, 0, (2 * 4 + 3) * 4);
  check(output, 12, (2 * 12 + 3) * 4);
  output.scale_dtype = RowScaleDtype::kE8m0;
  check(output, 0, 3 * 4);
  check(output, 12, 3 * 4);
  output.scale_layout = ScaleLayout::kRowMajor;
  check(output, 0, 3 * 3);
  check(output, 5, 2 * 5 + 3);
  RowOutputSpec zeros;
  zeros.dtype = RowDtype::kInt8;
  zeros.granularity = RowGranularity::kToken;
  zeros.symmetric = false;
  check(zeros, 0, 3 * 4);
}

}  // namespace
}  // namespace heddle
