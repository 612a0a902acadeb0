// kv_append on the GPU, byte for byte against quantize_kv() on the host. Skips where there is no
// GPU.
#include <gtest/gtest.h>

#include "tests/gpu/operation_fixture.h"
#include "tests/gpu/rotate.h"
#include "tools/gpu_harness/operations/kv_append/check.h"

namespace heddle {
namespace {

class KvAppendGpu : public OperationGpu {
 protected:
  void add(const std::string& kv, const std::string& more = "", int heads = 4, int head_dim = 64) {
    const bool bf16 = target().arch() >= 80 && added() % 2 == 1;
    OperationGpu::add(
        Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":)" + std::to_string(heads) +
                    R"(,"head_dim":)" + std::to_string(head_dim) + R"(},"activation":{"dtype":")" +
                    (bf16 ? "bf16" : "fp16") + R"("},"kv":{)" + kv + "}" + more + "}"));
  }
};

constexpr const char* kCacheLayouts[] = {
    R"("layout":"paged","page_size":16)", R"("layout":"paged","page_size":24,"order":"nhd")",
    R"("layout":"contiguous")", R"("layout":"contiguous","order":"nhd")"};
constexpr const char* kRopes[] = {"", R"(,"rope":{"pairing":"neox","base":500000})",
                                  R"(,"rope":{"pairing":"gptj","dim":32})",
                                  R"(,"rope":{"pairing":"neox","dim":48,"source":"table"})"};

TEST_F(KvAppendGpu, EveryTypeAndGranularity) {
  int turn = 0;
  for (const char* dtype : {"int8", "int4", "int2", "fp8_e4m3", "fp8_e5m2"}) {
    const bool integer = dtype[0] == 'i';
    for (const char* granularity :
         {R"("tensor")", R"("token")", R"("head")", R"("group","group_size":16)",
          R"("group","group_size":32)", R"("group","group_size":64)"}) {
      for (const char* scale : {"fp16", "bf16", "fp32"}) {
        for (const bool symmetric : {true, false}) {
          const bool tensor = std::string(granularity) == R"("tensor")";
          if (!symmetric && !integer) continue;
          if (tensor && std::string(scale) != "fp32") continue;
          add(std::string(R"("dtype":")") + dtype + R"(","granularity":)" + granularity +
                  R"(,"scale_dtype":")" + scale + R"(","symmetric":)" +
                  (symmetric ? "true," : "false,") + kCacheLayouts[turn % 4],
              kRopes[turn / 4 % 4]);
          ++turn;
        }
      }
    }
  }
}

// Blocks of tokens that one thread block takes; the window's slots are in any order.
TEST_F(KvAppendGpu, ScalesPerChannel) {
  int turn = 0;
  for (const char* dtype : {"int8", "int4", "int2", "fp8_e4m3", "fp8_e5m2"}) {
    for (const int tokens : {32, 64, 96, 128, 256}) {
      const bool symmetric = turn % 2 == 0 || dtype[0] != 'i';
      constexpr const char* kCacheScales[] = {"fp16", "bf16", "fp32"};
      const std::string block = std::to_string(tokens);
      const std::string layouts[] = {R"("page_size":)" + (tokens == 96   ? "192"
                                                          : tokens < 128 ? "128"
                                                                         : block),
                                     R"("layout":"contiguous","order":"nhd")",
                                     R"("order":"nhd","page_size":)" + block,
                                     R"("layout":"contiguous")"};
      constexpr int kDims[] = {64, 128, 80, 48, 256};
      // What the rotations turn, a head has.
      const int head_dim = kDims[(turn + turn / 5) % 5];
      add(std::string(R"("k":{"granularity":"channel","dtype":")") + dtype + R"(","group_size":)" +
              block + R"(,"scale_dtype":")" + kCacheScales[turn % 3] + R"(","symmetric":)" +
              (symmetric ? "true}," : "false},") + layouts[turn / 2 % 4],
          kRopes[turn / 3 % 4], 1 + turn % 4, head_dim);
      ++turn;
    }
  }
  // V in each way of its own.
  add(R"("k":{"granularity":"channel"},"v":{"granularity":"token"})", kRopes[1], 40);
  add(R"("k":{"granularity":"channel"},"v":{"dtype":"fp16"})");
  add(R"("k":{"granularity":"channel"},"v":{"dtype":"nvfp4"})", kRopes[2], 12, 128);
}

TEST_F(KvAppendGpu, SixteenBitsAndNvfp4) {
  for (const char* dtype : {"fp16", "bf16", "nvfp4"}) {
    if (std::string(dtype) == "bf16" && target().arch() < 80) continue;
    for (const char* layout : kCacheLayouts) {
      for (const char* rope : kRopes) {
        add(std::string(R"("dtype":")") + dtype + R"(",)" + layout, rope);
      }
    }
  }
}

TEST_F(KvAppendGpu, KAndVDiffer) {
  add(R"("k":{"dtype":"int8","granularity":"token"},"v":{"dtype":"int4"})", kRopes[1]);
  add(R"("k":{"dtype":"fp16"},"v":{"dtype":"fp8_e4m3","granularity":"token"})", kRopes[2]);
  add(R"("k":{"dtype":"int4","granularity":"group","group_size":32},"v":{"dtype":"nvfp4"})");
}

TEST_F(KvAppendGpu, EveryShape) {
  const auto add_shape = [&](int heads, int head_dim) {
    const std::string rope = head_dim == 16 ? "" : R"(,"rope":{"pairing":"neox","dim":32})";
    add(heads % 2 == 0 ? R"("dtype":"int8")" : R"("dtype":"int4","symmetric":false)", rope, heads,
        head_dim);
    add(R"("granularity":"token")", rope, heads, head_dim);
  };
  for (const int heads : {1, 2, 3, 5, 8, 12, 40, 65, 96}) add_shape(heads, 64);
  for (const int head_dim : {16, 48, 80, 96, 112, 128, 192, 256, 512}) {
    add_shape(3, head_dim);
    add_shape(4, head_dim);
  }
}

// Q, norms of heads and scaled rotations with every granularity.
TEST_F(KvAppendGpu, QueryNormAndScaling) {
  const auto scaled = [](const char* scaling) {
    return std::string(R"(,"rope":{"pairing":"neox","base":500000,"scaling":{)") + scaling + "}}";
  };
  const std::string llama3 =
      scaled(R"("type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,)"
             R"("original_max_position_embeddings":64)");
  const std::string yarn =
      scaled(R"("type":"yarn","factor":16,"original_max_position_embeddings":64)");
  const std::string linear = scaled(R"("type":"linear","factor":4)");
  const std::string ropes[] = {kRopes[1], kRopes[2], kRopes[3], "", llama3, yarn, linear};
  const char* norms[] = {"", R"(,"norm":{"epsilon":1e-6})",
                         R"(,"norm":{"epsilon":1e-5,"weight_offset":1})"};
  constexpr int kDims[] = {64, 128, 80, 256};
  const char* caches[] = {R"("dtype":"int8")",
                          R"("dtype":"int4","granularity":"group","group_size":16)",
                          R"("dtype":"fp8_e4m3","granularity":"token")",
                          R"("dtype":"fp8_e5m2")",
                          R"("dtype":"nvfp4")",
                          R"("dtype":"fp16")",
                          R"("k":{"granularity":"channel","group_size":64},"v":{"dtype":"int4"})"};
  for (std::size_t i = 0; i < std::size(ropes); ++i) {
    for (std::size_t j = 0; j < std::size(norms); ++j) {
      const std::size_t turn = 3 * i + j;
      const auto heads = static_cast<int>(1 + turn % 4);
      std::string more = ropes[i] + norms[j];
      const std::size_t times = j == 0 || turn % 5 != 0 ? 1 + turn % 5 : 0;  // Q or a norm, or both
      if (times != 0) more += R"(,"query":{"heads":)" + std::to_string(times * heads) + "}";
      add(std::string(rotate(caches, i + 2 * j)) + (turn % 2 == 0 ? R"(,"order":"nhd")" : ""), more,
          heads, rotate(kDims, turn));
    }
  }
}

// The heads of Llama 3 and of Qwen 3, from one token to a prefill.
TEST_F(KvAppendGpu, EveryBatchWithQuery) {
  const Spec spec = Spec::parse(
      R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":8,"head_dim":128},)"
      R"("activation":{"dtype":"fp16"},"kv":{"dtype":"int8"},"rope":{"pairing":"neox"},)"
      R"("query":{"heads":32},"norm":{"epsilon":1e-6}})");
  if (only_makes({spec})) return;
  const Kernel kernel = runtime().kernel(spec);
  EXPECT_EQ(check_kv_append(kernel, prefill_shape(3000)).fault(), "");
  EXPECT_EQ(check_kv_append(kernel, decode_shape(1, 1000, 3)).fault(), "");
  EXPECT_EQ(check_kv_append(kernel, decode_shape(64, 1000, 3)).fault(), "");
  EXPECT_EQ(check_kv_append(kernel, decode_shape(1500, 200, 4)).fault(), "");
}

TEST_F(KvAppendGpu, EveryPageSize) {
  for (const int size : {1, 2, 7, 32, 64, 128, 256}) {
    add(R"("page_size":)" + std::to_string(size), kRopes[1]);
  }
}

// One long sequence, one token, and more sequences than a search takes in one step.
TEST_F(KvAppendGpu, EveryBatch) {
  const Spec spec =
      Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":8,"head_dim":128},)"
                  R"("activation":{"dtype":"fp16"},"kv":{},"rope":{"pairing":"neox"}})");
  if (only_makes({spec})) return;
  const Kernel kernel = runtime().kernel(spec);
  EXPECT_EQ(check_kv_append(kernel, prefill_shape(1000)).fault(), "");
  EXPECT_EQ(check_kv_append(kernel, decode_shape(1, 1000, 3)).fault(), "");
  EXPECT_EQ(check_kv_append(kernel, decode_shape(1500, 200, 4)).fault(), "");
}

TEST_F(KvAppendGpu, EveryBatchWithScalesPerChannel) {
  const Spec channel =
      Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":8,"head_dim":128},)"
                  R"("activation":{"dtype":"fp16"},"rope":{"pairing":"neox"},)"
                  R"("kv":{"k":{"granularity":"channel","group_size":64}}})");
  const Spec small_heads =
      Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":1,"head_dim":64},)"
                  R"("activation":{"dtype":"fp16"},"kv":{"k":{"granularity":"channel"}}})");
  if (only_makes({channel, small_heads})) return;
  const Kernel by_channel = runtime().kernel(channel);
  EXPECT_EQ(check_kv_append(by_channel, prefill_shape(1000)).fault(), "");
  EXPECT_EQ(check_kv_append(by_channel, decode_shape(130, 200, 4)).fault(), "");
  // More sequences than the search takes in one step, most of them with nothing new.
  const Kernel small = runtime().kernel(small_heads);
  KvAppendShape many;
  for (int i = 0; i < 1200; ++i) {
    many.new_tokens.push_back(i % 5 == 0 ? i % 90 : 0);
    many.lengths.push_back(many.new_tokens.back() + i % 70);
  }
  EXPECT_EQ(check_kv_append(small, many).fault(), "");
}

}  // namespace
}  // namespace heddle
