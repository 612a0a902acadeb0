// What the C API says of a launch is what the launch does, on the fake driver: grid, thread block,
// shared memory, cluster; of kernels with one struct its bytes, of others arguments that tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cache/bytes.h"
#include "heddle/heddle.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

struct Seen {
  fake::Launch launch;
  unsigned cluster = 1;  // thread blocks of one
  std::vector<Bytes> arguments;
};

heddle_input in(std::uintptr_t at) { return {testing::memory(at).data, PTRDIFF_MAX}; }
heddle_output out(std::uintptr_t at) { return {testing::memory(at).data, PTRDIFF_MAX}; }

template <class Value>
Bytes bytes_of_value(const Value& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Thread blocks of a cluster, from the attributes of a launch that is being made.
unsigned cluster_of(const cuda::CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cuda::CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cuda::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      return attribute.value.clusterDim.x;
    }
  }
  return 1;
}

class CApiPlanLaunch : public testing::FakeDevice {
 protected:
  void SetUp() override {
    FakeDevice::SetUp();
    if (IsSkipped()) return;
    heddle_runtime_options options;
    ASSERT_EQ(heddle_runtime_options_init(&options, sizeof options), HEDDLE_OK);
    options.cache_dir = {options_.cache_dir.data(), options_.cache_dir.size()};
    ASSERT_EQ(heddle_runtime_create(&options, &runtime_), HEDDLE_OK) << heddle_error_message();
  }
  void TearDown() override {
    heddle_plan_destroy(plan_);
    heddle_kernel_destroy(kernel_);
    heddle_runtime_destroy(runtime_);
    FakeDevice::TearDown();
  }

  void make(const std::string& spec) {
    ASSERT_EQ(heddle_kernel_create(runtime_, spec.data(), spec.size(), nullptr, &kernel_),
              HEDDLE_OK)
        << heddle_error_message();
    ASSERT_EQ(heddle_plan_of_kernel(kernel_, &plan_), HEDDLE_OK);
    // The bytes of each argument, as many as the C API says that it has.
    fake::state().work_of = [this](const fake::Launch& launch, void** parameters) {
      Seen seen{launch, cluster_of(launch.config), {}};
      for (std::size_t i = 0; i < infos_.at(launch.kernel).front().argument_count; ++i) {
        heddle_plan_argument_info argument = {};
        argument.struct_size = sizeof argument;
        EXPECT_EQ(heddle_plan_argument(plan_, indices_.at(launch.kernel), i, &argument), HEDDLE_OK);
        const auto* from = static_cast<const std::uint8_t*>(parameters[i]);
        seen.arguments.emplace_back(from, from + argument.bytes);
      }
      seen_.push_back(std::move(seen));
      return fake::Work([] {});
    };
  }

  // Asks for the launches of a size: of the kernels that run before, and of the size's own.
  void ask(const heddle_launch_size& size, std::size_t own) {
    heddle_plan_info plan = {};
    plan.struct_size = sizeof plan;
    ASSERT_EQ(heddle_plan_get(plan_, &plan), HEDDLE_OK);
    for (std::size_t i = 0; i < plan.kernel_count; ++i) {
      heddle_plan_kernel_info kernel = {};
      kernel.struct_size = sizeof kernel;
      ASSERT_EQ(heddle_plan_kernel(plan_, i, &kernel), HEDDLE_OK);
      if (i != own && kernel.runs_before == 0) continue;
      heddle_plan_launch_info info = {};
      info.struct_size = sizeof info;
      heddle_launch_size phase = size;
      do {
        ASSERT_EQ(heddle_plan_launch(plan_, i, &phase, &info), HEDDLE_OK) << heddle_error_message();
        infos_[kernel.name.data].push_back(info);
      } while (++phase.phase < info.phases);
      indices_[kernel.name.data] = i;
    }
  }

  std::size_t workspace_bytes() const { return infos_.begin()->second.front().workspace_bytes; }

  std::size_t kernel_of_size(std::int64_t size) {
    std::size_t index = 0;
    EXPECT_EQ(heddle_plan_kernel_of_size(plan_, size, &index), HEDDLE_OK);
    return index;
  }

  // Every launch that was seen is one that was told, and all that were told were seen, those of one
  // kernel in their order.
  void expect_told() {
    std::size_t all = 0;
    for (const auto& [name, phases] : infos_) all += phases.size();
    ASSERT_EQ(seen_.size(), all);
    std::map<std::string, std::size_t> phases;
    for (const Seen& seen : seen_) {
      const heddle_plan_launch_info& told =
          infos_.at(seen.launch.kernel).at(phases[seen.launch.kernel]++);
      const cuda::CUlaunchConfig& config = seen.launch.config;
      EXPECT_EQ(config.gridDimX, told.grid_x);
      EXPECT_EQ(config.gridDimY, told.grid_y);
      EXPECT_EQ(config.gridDimZ, told.grid_z);
      EXPECT_EQ(config.blockDimX, static_cast<unsigned>(told.threads));
      EXPECT_EQ(config.sharedMemBytes, static_cast<unsigned>(told.dynamic_shared_bytes));
      EXPECT_LE(told.dynamic_shared_bytes, told.max_dynamic_shared_bytes);
      const unsigned attributes = (told.cluster > 1 ? 1U : 0U) + (told.starts_early != 0 ? 1U : 0U);
      EXPECT_EQ(config.numAttrs, attributes);
      EXPECT_EQ(seen.cluster, told.cluster);
    }
  }

  // The bytes of an argument of the last launch.
  Bytes argument(const std::string& name) { return argument(seen_.back(), name); }
  Bytes argument(const Seen& seen, const std::string& name) {
    for (std::size_t i = 0; i < seen.arguments.size(); ++i) {
      heddle_plan_argument_info info = {};
      info.struct_size = sizeof info;
      EXPECT_EQ(heddle_plan_argument(plan_, indices_.at(seen.launch.kernel), i, &info), HEDDLE_OK);
      if (name == info.name.data) return seen.arguments[i];
    }
    return {};
  }

  // The last launch's struct, of which the last bytes are padding: zero where it is told, anything
  // where it is launched.
  void expect_parameters(const Bytes& told, std::size_t padding) {
    Bytes launched = argument("parameters");
    ASSERT_EQ(launched.size(), told.size());
    std::fill(launched.end() - static_cast<std::ptrdiff_t>(padding), launched.end(), 0);
    EXPECT_EQ(launched, told);
  }

  heddle_runtime* runtime_ = nullptr;
  heddle_kernel* kernel_ = nullptr;
  heddle_plan* plan_ = nullptr;
  std::map<std::string, std::vector<heddle_plan_launch_info>> infos_;  // of each phase
  std::map<std::string, std::size_t> indices_;
  std::vector<Seen> seen_;
};

heddle_launch_size size_of(std::int64_t size, std::int64_t sequences = 0, bool offsets = false) {
  heddle_launch_size wanted = {};
  wanted.struct_size = sizeof wanted;
  wanted.size = size;
  wanted.sequences = sequences;
  wanted.has_offsets = offsets ? 1 : 0;
  return wanted;
}

heddle_gemm_args gemm_args(std::int64_t m) {
  heddle_gemm_args args = {};
  args.struct_size = sizeof args;
  args.m = m;
  args.x = in(0x100000);
  args.weights = in(0x200000);
  args.y = out(0x300000);
  args.workspace = out(0x400000);
  return args;
}

Bytes shape_of(const heddle_plan* plan) {
  std::size_t bytes = 0;
  EXPECT_EQ(heddle_gemm_shape(plan, nullptr, 0, &bytes), HEDDLE_ERROR_USAGE);
  Bytes shape(bytes);
  EXPECT_EQ(heddle_gemm_shape(plan, shape.data(), bytes, &bytes), HEDDLE_OK)
      << heddle_error_message();
  return shape;
}

TEST_F(CApiPlanLaunch, OfAGemm) {
  const testing::EngineContext context;
  make(R"({"heddle":1,"op":"gemm","shape":{"n":4096,"k":4096,"m":[1,300]},"weight":{"bits":4},)"
       R"("activation":{"dtype":"fp16"}})");
  bool has_shape = false;
  for (const std::int64_t m : {1, 7, 64, 300}) {
    seen_.clear();
    infos_.clear();
    ask(size_of(m), kernel_of_size(m));
    heddle_gemm_args args = gemm_args(m);
    args.workspace.bytes = workspace_bytes();
    ASSERT_EQ(heddle_launch_gemm(kernel_, &args, nullptr), HEDDLE_OK) << heddle_error_message();
    expect_told();
    EXPECT_EQ(argument("weights"), bytes_of_value(args.weights.data));
    EXPECT_EQ(argument("y"), bytes_of_value(args.y.data));
    const heddle_plan_launch_info& told = infos_.at(seen_.back().launch.kernel).front();
    if (!argument("schedule").empty()) {
      EXPECT_EQ(argument("schedule"), bytes_of_value(told.schedule));
    }
    EXPECT_EQ(argument("tokens").empty(), told.box_tokens == 0);
    has_shape = has_shape || !argument("shape").empty();
    if (!argument("shape").empty()) {
      EXPECT_EQ(argument("shape"), shape_of(plan_));
    }
  }
  EXPECT_TRUE(has_shape);
}

TEST_F(CApiPlanLaunch, OfActOrder) {
  const testing::EngineContext context;
  make(R"({"heddle":1,"op":"gemm","shape":{"n":256,"k":512,"m":[1,16]},"weight":{"bits":4},)"
       R"("activation":{"dtype":"fp16","act_order":true}})");
  ask(size_of(11), kernel_of_size(11));
  ASSERT_EQ(infos_.size(), 2U);
  heddle_gemm_args args = gemm_args(11);
  args.permutation = in(0x500000);
  args.workspace.bytes = workspace_bytes();
  ASSERT_EQ(heddle_launch_gemm(kernel_, &args, nullptr), HEDDLE_OK) << heddle_error_message();
  expect_told();
  const void* gathered =
      static_cast<char*>(args.workspace.data) + infos_.begin()->second.front().gathered_offset;
  if (!argument("x").empty()) {
    EXPECT_EQ(argument("x"), bytes_of_value(gathered));
  }
  seen_.pop_back();
  EXPECT_EQ(argument("gathered"), bytes_of_value(gathered));
  EXPECT_EQ(argument("m"), bytes_of_value(std::int32_t{11}));
}

// A cache of 10 pages of 16 tokens.
heddle_kv_cache cache() {
  heddle_kv_cache cache = {};
  cache.k = {out(0x1000), out(0x2000), {}, {}};
  cache.v = {out(0x3000), out(0x4000), {}, {}};
  cache.pages = 10;
  cache.block_table = in(0x5000);
  cache.table_stride = 4;
  return cache;
}

template <class Args, class Write>
Bytes parameters_of(const heddle_plan* plan, const Args& args, const Write& write) {
  std::size_t bytes = 0;
  EXPECT_EQ(write(plan, &args, nullptr, 0, &bytes), HEDDLE_ERROR_USAGE);
  Bytes parameters(bytes);
  EXPECT_EQ(write(plan, &args, parameters.data(), bytes, &bytes), HEDDLE_OK)
      << heddle_error_message();
  return parameters;
}

TEST_F(CApiPlanLaunch, OfKvAppend) {
  const testing::EngineContext context;
  make(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":4,"head_dim":64},)"
       R"("activation":{"dtype":"fp16"},"kv":{"dtype":"int4","page_size":16}})");
  heddle_kv_append_args args = {};
  args.struct_size = sizeof args;
  args.tokens = 50;
  args.sequences = 3;
  args.k = in(0x6000);
  args.v = in(0x7000);
  args.offsets = in(0x8000);
  args.lengths = in(0x9000);
  args.cache = cache();
  ask(size_of(50, 3, true), 0);
  ASSERT_EQ(heddle_launch_kv_append(kernel_, &args, nullptr), HEDDLE_OK) << heddle_error_message();
  expect_told();
  expect_parameters(parameters_of(plan_, args, heddle_kv_append_parameters), 0);
}

TEST_F(CApiPlanLaunch, OfDecodeAttention) {
  const testing::EngineContext context;
  make(R"({"heddle":1,"op":"decode_attention","shape":{"heads":8,"kv_heads":4,"head_dim":64},)"
       R"("activation":{"dtype":"fp16"},"kv":{"dtype":"int4","page_size":16}})");
  heddle_decode_attention_args args = {};
  args.struct_size = sizeof args;
  args.sequences = 3;
  args.q = in(0x6000);
  args.out = out(0x7000);
  args.lengths = in(0x9000);
  args.cache = cache();
  ask(size_of(std::int64_t{4} * 16, 3), kernel_of_size(64));
  args.workspace = {testing::memory(0xA000).data, workspace_bytes()};
  ASSERT_EQ(heddle_launch_decode_attention(kernel_, &args, nullptr), HEDDLE_OK)
      << heddle_error_message();
  expect_told();
  expect_parameters(parameters_of(plan_, args, heddle_decode_attention_parameters), sizeof(int));
}

TEST_F(CApiPlanLaunch, OfRowTransform) {
  const testing::EngineContext context;
  make(R"({"heddle":1,"op":"row_transform","shape":{"columns":256,"m":[1,64]},)"
       R"("input":{"dtype":"fp16"},"norm":{"type":"rms","epsilon":1e-5}})");
  heddle_row_transform_args args = {};
  args.struct_size = sizeof args;
  args.m = 37;
  args.x = in(0x100000);
  args.y = out(0x200000);
  args.weight = in(0x300000);
  args.y_stride = 264;
  // With a size given, memory that is too small is refused.
  args.x.bytes = args.y.bytes = 0x10000;
  ask(size_of(37), kernel_of_size(37));
  ASSERT_EQ(heddle_launch_row_transform(kernel_, &args, nullptr), HEDDLE_OK)
      << heddle_error_message();
  expect_told();
  expect_parameters(parameters_of(plan_, args, heddle_row_transform_parameters), sizeof(int));
}

// A layer of experts, and a launch of it for five tokens.
class CApiPlanLaunchOfMoe : public CApiPlanLaunch {
 protected:
  // `fields`: further ones of the spec.
  void make_moe(const std::string& fields = {}) {
    make(R"({"heddle":1,"op":"moe","shape":{"hidden":256,"intermediate":128,"experts":8,"top_k":2,)"
         R"("tokens":[1,8]},"weight":{"gate_up":{"bits":4},"down":{"bits":4}},)"
         R"("activation":{"dtype":"fp16"},)" +
         fields + R"("epilogue":{"activation":"silu","gated":true}})");
    args_.struct_size = sizeof args_;
    args_.tokens = 5;
    args_.x = in(0x100000);
    args_.gate_up = in(0x200000);
    args_.down = in(0x300000);
    args_.y = out(0x600000);
  }
  void launch_moe() {
    ask(size_of(args_.tokens), kernel_of_size(args_.tokens));
    args_.workspace = {testing::memory(0x700000).data, workspace_bytes()};
    ASSERT_EQ(heddle_launch_moe(kernel_, &args_, nullptr), HEDDLE_OK) << heddle_error_message();
    expect_told();
    expect_parameters(parameters_of(plan_, args_, heddle_moe_parameters), sizeof(int));
  }

  heddle_moe_args args_ = {};
};

TEST_F(CApiPlanLaunchOfMoe, OfChosenExperts) {
  const testing::EngineContext context;
  make_moe();
  args_.ids = in(0x400000);
  args_.weights = in(0x500000);
  launch_moe();
  ASSERT_GT(seen_.size(), 1U);
  const std::vector<heddle_plan_launch_info>& told = infos_.begin()->second;
  for (std::size_t phase = 0; phase < told.size(); ++phase) {
    EXPECT_EQ(argument(seen_[phase], "schedule"), bytes_of_value(told[phase].schedule));
  }
}

// One launch more, ahead of the others, which find its choice in the workspace.
TEST_F(CApiPlanLaunchOfMoe, WithLogits) {
  const testing::EngineContext context;
  make_moe(R"("routing":{"scores":"softmax","renormalize":true},)");
  args_.logits = in(0x400000);
  launch_moe();
}

TEST_F(CApiPlanLaunch, OfWeights) {
  const testing::EngineContext context;
  make(testing::dequantize_spec().canonical_json());
  heddle_weight_source source = {};
  source.weights = in(0x1000);
  ask(size_of(0), 0);
  ASSERT_EQ(heddle_launch_dequantize(kernel_, &source, out(0x2000), nullptr), HEDDLE_OK)
      << heddle_error_message();
  expect_told();
  EXPECT_EQ(argument("weights"), bytes_of_value(source.weights.data));
  EXPECT_EQ(argument("w"), bytes_of_value(testing::memory(0x2000).data));
}

}  // namespace
}  // namespace heddle
