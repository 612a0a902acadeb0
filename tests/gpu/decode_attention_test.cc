// decode_attention on the GPU against FP64 on the dequantised cache. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "generator/decode/float16.h"
#include "tests/attention_spec.h"
#include "tests/gpu/operation_fixture.h"
#include "tests/gpu/rotate.h"
#include "tools/gpu_harness/operations/decode_attention/check.h"

namespace heddle {
namespace {

class DecodeAttentionGpu : public OperationGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && target().arch() < 80) GTEST_SKIP() << "needs sm_80";
  }
  // Every other one with BF16, unless the cache decides.
  void add(const std::string& kv, const std::string& more = "",
           const AttentionShape& shape = {8, 2, 64, 1}) {
    const bool fp16 = kv.find(R"("dtype":"fp16")") != std::string::npos;
    const bool bf16 = kv.find(R"("dtype":"bf16")") != std::string::npos;
    OperationGpu::add(attention_spec(kv, more, shape, bf16 || (!fp16 && added() % 2 == 1)));
  }
};

constexpr const char* kLayouts[] = {R"("page_size":64)",
                                    R"("page_size":16,"order":"nhd")",
                                    R"("layout":"contiguous")",
                                    R"("page_size":24)",
                                    R"("layout":"contiguous","order":"nhd")",
                                    R"("page_size":128,"order":"nhd")"};
constexpr const char* kFeatures[] = {
    "",
    R"(,"alibi":"standard")",
    R"(,"window":100,"log_sum_exp":true)",
    R"(,"softcap":20)",
    R"(,"alibi":"given","log_sum_exp":true)",
    R"(,"window":64,"sink_tokens":5)",
    R"(,"sink_logits":true,"log_sum_exp":true)",
    R"(,"scale_dim":100,"softcap":30,"alibi":"given","window":200,"sink_logits":true)"};
constexpr AttentionShape kShapes[] = {{8, 2, 64, 1},  {4, 4, 128, 1}, {32, 2, 64, 1},
                                      {6, 2, 128, 3}, {12, 4, 96, 2}, {16, 1, 64, 8}};

TEST_F(DecodeAttentionGpu, EveryTypeAndGranularity) {
  constexpr const char* kCacheScales[] = {"fp16", "bf16", "fp32"};
  std::size_t turn = 0;
  for (const char* dtype : {"int8", "int4", "fp8_e4m3", "fp8_e5m2"}) {
    const bool integer = dtype[0] == 'i';
    for (const char* granularity : {R"("tensor")", R"("token")", R"("head")",
                                    R"("group","group_size":32)", R"("group","group_size":64)"}) {
      for (const bool symmetric : {true, false}) {
        if (!symmetric && !integer) continue;
        const bool tensor = std::string(granularity) == R"("tensor")";
        const char* scale = tensor ? "fp32" : rotate(kCacheScales, turn + turn / 9);
        // Groups divide these heads.
        const AttentionShape shape = kShapes[turn % 4];
        add(std::string(R"("dtype":")") + dtype + R"(","granularity":)" + granularity +
                R"(,"scale_dtype":")" + scale + R"(","symmetric":)" +
                (symmetric ? "true," : "false,") + kLayouts[turn % 6],
            kFeatures[turn / 2 % 8], shape);
        ++turn;
      }
    }
  }
}

// The window's tokens among the others; V in the ways that it has.
TEST_F(DecodeAttentionGpu, ScalesOfKeysPerChannel) {
  constexpr const char* kBlocks[] = {
      R"("group_size":32},"page_size":64)", R"("group_size":64},"page_size":128,"order":"nhd")",
      R"("group_size":128},"layout":"contiguous")", R"("group_size":96},"page_size":192)",
      R"("group_size":256},"layout":"contiguous","order":"nhd")"};
  constexpr const char* kValues[] = {R"("v":{"dtype":"int8"})", R"("v":{"dtype":"int4"})",
                                     R"("v":{"dtype":"int8","granularity":"group"})",
                                     R"("v":{"dtype":"fp8_e4m3"})"};
  constexpr AttentionShape kFewShapes[] = {{8, 2, 64, 1}, {32, 2, 128, 2}, {4, 4, 128, 8}};
  std::size_t turn = 0;
  for (const char* dtype : {"int8", "int4", "int2", "fp8_e4m3", "fp8_e5m2"}) {
    for (const char* symmetric : {"true", "false"}) {
      if (symmetric[0] == 'f' && dtype[0] != 'i') continue;
      for (const char* scale : {"fp16", "bf16", "fp32"}) {
        add(std::string(R"("k":{"granularity":"channel","dtype":")") + dtype + R"(","symmetric":)" +
                symmetric + R"(,"scale_dtype":")" + scale + R"(",)" + kBlocks[turn % 5] + "," +
                kValues[turn % 4],
            kFeatures[turn % 8], rotate(kFewShapes, turn + turn / 3));
        ++turn;
      }
    }
  }
  for (const AttentionShape& shape : {AttentionShape{8, 4, 192, 2}, AttentionShape{16, 8, 256, 1},
                                      AttentionShape{32, 8, 80, 3}, AttentionShape{71, 1, 64, 1}}) {
    const char* symmetric = turn++ % 2 == 0 ? "true" : "false";
    add(R"("k":{"granularity":"channel","symmetric":)" + std::string(symmetric) + "}", "", shape);
  }
}

TEST_F(DecodeAttentionGpu, CodesOf2Bits) {
  constexpr AttentionShape kFewShapes[] = {{8, 2, 128, 1}, {32, 2, 64, 1}, {6, 2, 128, 3}};
  std::size_t turn = 0;
  for (const char* granularity : {R"("tensor","scale_dtype":"fp32")", R"("token")", R"("head")",
                                  R"("group","group_size":64)"}) {
    for (const char* symmetric : {"true", "false"}) {
      add(std::string(R"("dtype":"int2","granularity":)") + granularity + R"(,"symmetric":)" +
              symmetric + "," + kLayouts[turn % 6],
          kFeatures[turn % 8], rotate(kFewShapes, turn));
      ++turn;
    }
  }
  add(R"("k":{"dtype":"int2","granularity":"group","group_size":64},"v":{"dtype":"int4"})", "",
      {8, 2, 256, 1});
}

TEST_F(DecodeAttentionGpu, Nvfp4) {
  std::size_t turn = 0;
  for (const AttentionShape& shape : {AttentionShape{8, 2, 128, 1}, AttentionShape{32, 2, 64, 1},
                                      AttentionShape{6, 2, 128, 3}, AttentionShape{16, 1, 128, 8},
                                      AttentionShape{8, 4, 256, 2}, AttentionShape{71, 1, 64, 1}}) {
    for (int i = 0; i < 2; ++i) {
      const char* layout = rotate(kLayouts, turn / 2 + 3 * i);
      add(std::string(R"("dtype":"nvfp4",)") + layout, kFeatures[turn % 8], shape);
      ++turn;
    }
  }
  // With each feature, and with each other type as K and as V.
  for (const char* features : kFeatures) add(R"("dtype":"nvfp4")", features, {32, 8, 128, 1});
  for (const char* other :
       {R"("dtype":"int8")", R"("dtype":"int4","granularity":"group","group_size":64)",
        R"("dtype":"int2","symmetric":false)", R"("dtype":"fp8_e4m3")",
        R"("dtype":"fp8_e5m2","granularity":"token")", R"("dtype":"fp16")", R"("dtype":"bf16")"}) {
    add(std::string(R"("k":{"dtype":"nvfp4"},"v":{)") + other + "}", "", {8, 2, 128, 1});
    add(std::string(R"("k":{)") + other + R"(},"v":{"dtype":"nvfp4"})", "", {6, 2, 128, 2});
  }
}

TEST_F(DecodeAttentionGpu, CachesOf16Bits) {
  std::size_t turn = 0;
  for (std::size_t i = 0; i < std::size(kShapes); ++i) {
    for (std::size_t j = i % 2; j < std::size(kLayouts); j += 2) {  // every second layout
      const char* features = rotate(kFeatures, turn++);
      for (const char* dtype : {R"("dtype":"fp16",)", R"("dtype":"bf16",)"}) {
        add(std::string(dtype) + kLayouts[j], features, kShapes[i]);
      }
    }
  }
}

TEST_F(DecodeAttentionGpu, EveryLayoutWithEveryFeature) {
  for (const char* layout : kLayouts) {
    for (const char* features : kFeatures) {
      add(std::string(R"("dtype":"int8",)") + layout, features, kShapes[3]);
      add(std::string(R"("dtype":"int4",)") + layout, features, kShapes[0]);
    }
  }
}

TEST_F(DecodeAttentionGpu, KAndVDiffer) {
  add(R"("k":{"dtype":"int8"},"v":{"dtype":"int4"})");
  add(R"("k":{"dtype":"int4","granularity":"group","group_size":32},"v":{"dtype":"fp8_e4m3"})");
  add(R"("k":{"dtype":"fp16"},"v":{"dtype":"int8","symmetric":false})");
  add(R"("k":{"dtype":"fp8_e5m2"},"v":{"dtype":"bf16"})");
}

TEST_F(DecodeAttentionGpu, ShapesOfModels) {
  constexpr const char* kCaches[] = {R"("dtype":"int8")", R"("dtype":"int4")",
                                     R"("dtype":"fp8_e4m3","page_size":1)",
                                     R"("dtype":"fp16","page_size":256)", R"("dtype":"bf16")"};
  std::size_t i = 0;
  for (const AttentionShape& shape :
       {AttentionShape{32, 8, 128, 1}, AttentionShape{64, 8, 128, 1},
        AttentionShape{32, 32, 128, 1}, AttentionShape{71, 1, 64, 1}, AttentionShape{16, 8, 256, 1},
        AttentionShape{8, 4, 192, 2}, AttentionShape{32, 8, 80, 1},
        AttentionShape{28, 4, 128, 4}}) {
    for (std::size_t j = 0; j < 3; ++j, ++i) {
      const std::string cache = rotate(kCaches, i);
      if (cache == kCaches[1] && shape.head_dim % 32 != 0) continue;
      add(cache, "", shape);
    }
  }
}

TEST_F(DecodeAttentionGpu, PagesInAnotherOrderGiveTheSameBits) {
  for (const char* kv : {R"("dtype":"int8")", R"("dtype":"int4","page_size":16)",
                         R"("k":{"granularity":"channel"})"}) {
    const Spec spec = attention_spec(kv, "", {8, 2, 128, 1}, false);
    if (only_makes({spec})) continue;
    const Kernel kernel = runtime().kernel(spec);
    const std::vector<std::int32_t> lengths = {700, 3, 0, 1290};
    const auto& attention = spec.decode_attention();
    const auto first = run_attention(kernel, make_attention_problem(attention, lengths, 5, 1));
    const auto second = run_attention(kernel, make_attention_problem(attention, lengths, 5, 2));
    EXPECT_EQ(first, second);
  }
}

// The kernel starts while the one before still runs: nothing that this one writes may be used as it
// was.
TEST_F(DecodeAttentionGpu, LengthsThatTheKernelBeforeWrites) {
  for (const char* kv : {R"("dtype":"int8")", R"("dtype":"int4","page_size":16)",
                         R"("k":{"granularity":"channel","group_size":64})"}) {
    const Spec spec = attention_spec(kv, "", {8, 2, 128, 1}, false);
    if (only_makes({spec})) continue;
    const Kernel kernel = runtime().kernel(spec);
    const std::vector<std::int32_t> lengths = {700, 3, 0, 1290, 64};
    const auto problem = make_attention_problem(spec.decode_attention(), lengths, 5);
    EXPECT_EQ(run_attention_after_late_writes(kernel, problem), run_attention(kernel, problem));
  }
}

// So long that pairs of blocks share them, or blocks of another width have a kernel of their own.
TEST_F(DecodeAttentionGpu, LongSequences) {
  for (const char* kv : {R"("dtype":"int8")", R"("dtype":"int4")",
                         R"("dtype":"int4","symmetric":false,"layout":"contiguous")",
                         R"("dtype":"int2","page_size":16)"}) {
    SCOPED_TRACE(kv);
    const Spec spec = attention_spec(kv, "", {8, 2, 128, 1}, false);
    if (only_makes({spec})) continue;
    const Kernel kernel = runtime().kernel(spec);
    const auto& attention = spec.decode_attention();
    const AttentionProblem problem = make_attention_problem(attention, {8300, 3, 700, 9000}, 7);
    EXPECT_EQ(check_attention(kernel, problem).fault(), "");
    if (attention.kv.layout != KvLayout::kPaged) continue;
    EXPECT_EQ(run_attention_after_late_writes(kernel, problem), run_attention(kernel, problem));
  }
}

double difference_of(const std::vector<std::uint16_t>& a, const std::uint16_t* b) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = float16_to_double(kBinary16, a[i]);
    const double difference = x - float16_to_double(kBinary16, b[i]);
    error += difference * difference;
    size += x * x;
  }
  return std::sqrt(error / size);
}

// A sequence alone, which many blocks share, and sixty that have its pages, which few blocks share.
TEST_F(DecodeAttentionGpu, SplittingASequenceChangesOnlyRounding) {
  const Spec spec = attention_spec(R"("dtype":"int8")", "", {8, 2, 128, 1}, false);
  if (only_makes({spec})) return;
  const Kernel kernel = runtime().kernel(spec);
  const AttentionProblem one = make_attention_problem(spec.decode_attention(), {5000}, 9);
  AttentionProblem many = one;
  constexpr std::size_t kSequences = 60;
  for (std::size_t i = 1; i < kSequences; ++i) {
    many.lengths.push_back(5000);
    many.block_table.insert(many.block_table.end(), one.block_table.begin(),
                            one.block_table.begin() + one.table_stride);
    many.q.insert(many.q.end(), one.q.begin(), one.q.end());
  }
  const auto alone = run_attention(kernel, one);
  const auto all = run_attention(kernel, many);
  for (std::size_t i = 0; i < kSequences; ++i) {
    EXPECT_LT(difference_of(alone, &all[i * alone.size()]), 5e-4) << i;
  }
}

}  // namespace
}  // namespace heddle
