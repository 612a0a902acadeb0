// What quantised caches cost on the seeded sample: figures that may not grow.
#include "examples/kv_error/kv_error.h"

#include <gtest/gtest.h>

#include <map>

namespace heddle::kv_error {
namespace {

std::map<std::string, KvError> errors(DType dtype) {
  const KvSample sample = make_kv_sample(4, 2, 128, 256, dtype);
  const ErrorMeter meter(sample);
  std::map<std::string, KvError> all;
  for (const KvChoice& choice : kv_choices(4, 128, dtype)) {
    all[choice.name] = meter.measure(choice.k, choice.v);
  }
  return all;
}

TEST(KvErrorFigures, StayWhatTheyWere) {
  const auto all = errors(DType::kFp16);
  const struct {
    const char* name;
    double error;
  } figures[] = {{"fp16", 0},
                 {"int8 tensor", 3.031e-2},
                 {"int8 token", 2.374e-2},
                 {"int8 head", 1.737e-2},
                 {"int8 group 64", 1.529e-2},
                 {"int8 head, zero points", 1.564e-2},
                 {"fp8_e4m3 tensor", 4.719e-2},
                 {"fp8_e4m3 head", 4.127e-2},
                 {"fp8_e5m2 head", 9.130e-2},
                 {"int4 head", 3.372e-1},
                 {"int4 group 32", 2.881e-1},
                 {"int4 group 32, zero points", 1.695e-1},
                 {"int2 group 16, zero points", 5.940e-1},
                 {"int8 K channel 128, V head", 8.868e-3},
                 {"int4 K channel 128, V group 32", 1.637e-1},
                 {"int4 K channel 32, V group 32, zero points", 1.143e-1},
                 {"int2 K channel 32, V group 32, zero points", 6.192e-1},
                 {"nvfp4 group 16", 1.660e-1}};
  for (const auto& [name, error] : figures) {
    ASSERT_EQ(all.count(name), 1U) << name;
    EXPECT_NEAR(all.at(name).both, error, 0.02 * error) << name;
  }
}

// More scales, or more bits, never hurt.
TEST(KvErrorFigures, FinerIsBetter) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    const auto all = errors(dtype);
    const auto below = [&](const char* fine, const char* coarse) {
      EXPECT_LT(all.at(fine).both, all.at(coarse).both) << fine << " and " << coarse;
    };
    below("int8 head", "int8 token");
    below("int8 token", "int8 tensor");
    below("int8 group 64", "int8 head");
    below("int4 group 32", "int4 head");
    below("int4 group 16", "int4 group 32");
    below("int8 head", "int4 head");
    below("int4 head", "int2 head");
    below("int4 head, zero points", "int4 head");
    below("int4 head", "int2 group 16");
    below("fp8_e4m3 head", "fp8_e5m2 head");
    below("int4 K channel 32, V group 32", "int4 K channel 128, V group 32");
    below("int8 K channel 128, V head", "int8 head");
    below("int4 K channel 128, V group 32", "int4 group 32");
    below("int4 K channel 32, V group 32, zero points", "int4 group 32, zero points");
    below("int2 K channel 32, V group 32, zero points", "int2 group 32, zero points");
  }
}

TEST(KvErrorFigures, GroupsThatDoNotDivideAHeadAreLeftOut) {
  for (const KvChoice& choice : kv_choices(2, 80, DType::kFp16)) {
    EXPECT_NE(choice.v.group_size, 64) << choice.name;
  }
}

}  // namespace
}  // namespace heddle::kv_error
