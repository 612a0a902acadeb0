// The handles of the operations, on the fake driver.
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/operations.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_args;
using testing::dequantize_spec;
using testing::EngineContext;
using testing::gemm_spec;
using testing::memory;

class OperationKernelTest : public testing::FakeDevice {};

// One of every operation.
std::vector<Spec> all_specs() {
  const auto spec = [](const char* rest) {
    return Spec::parse(fmt::format(R"({{"heddle":1,{}}})", rest));
  };
  return {
      gemm_spec(),
      dequantize_spec(),
      spec(R"("op":"repack","shape":{"n":64,"k":256},"weight":{"bits":4},)"
           R"("source":{"format":"gptq"})"),
      spec(R"("op":"quantize_weight","shape":{"n":64,"k":256},"weight":{"bits":4},)"
           R"("input":{"dtype":"fp16"})"),
      spec(R"("op":"kv_append","shape":{"kv_heads":2,"head_dim":64},)"
           R"("activation":{"dtype":"fp16"},"kv":{"dtype":"int8"})"),
      spec(R"("op":"decode_attention","shape":{"heads":8,"kv_heads":2,"head_dim":64},)"
           R"("activation":{"dtype":"fp16"},"kv":{"dtype":"int8"})"),
      spec(R"("op":"row_transform","shape":{"columns":64,"m":[1,8]},"input":{"dtype":"fp16"},)"
           R"("norm":{"type":"rms","epsilon":1e-6})"),
      spec(R"("op":"moe","shape":{"hidden":256,"intermediate":128,"experts":8,"top_k":2,)"
           R"("tokens":[1,1]},"weight":{"gate_up":{"bits":4},"down":{"bits":4}},)"
           R"("activation":{"dtype":"fp16"})"),
  };
}

// The codes of making a Handle of every kernel: "" where it is of the kernel's operation.
template <class Handle>
void expect_only_of(Op op, const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    std::string what;
    const std::string code = code_of([&] { const Handle handle(kernel); }, &what);
    EXPECT_EQ(code, kernel.op() == op ? "" : "kernel.operation") << to_string(kernel.op());
    if (code.empty()) continue;
    EXPECT_NE(what.find(to_string(op)), std::string::npos) << what;
    EXPECT_NE(what.find(to_string(kernel.op())), std::string::npos) << what;
  }
}

TEST_F(OperationKernelTest, IsOfOneOperation) {
  Runtime runtime(options_);
  const EngineContext context;
  const std::vector<Spec> specs = all_specs();
  const std::vector<Kernel> kernels = runtime.prepare(specs);
  for (std::size_t i = 0; i < specs.size(); ++i) EXPECT_EQ(kernels[i].op(), specs[i].op());
  expect_only_of<GemmKernel>(Op::kGemm, kernels);
  expect_only_of<DequantizeKernel>(Op::kDequantize, kernels);
  expect_only_of<RepackKernel>(Op::kRepack, kernels);
  expect_only_of<QuantizeWeightKernel>(Op::kQuantizeWeight, kernels);
  expect_only_of<KvAppendKernel>(Op::kKvAppend, kernels);
  expect_only_of<DecodeAttentionKernel>(Op::kDecodeAttention, kernels);
  expect_only_of<RowTransformKernel>(Op::kRowTransform, kernels);
  expect_only_of<MoeKernel>(Op::kMoe, kernels);
  EXPECT_EQ(fake::launches().size(), 0U);
}

TEST_F(OperationKernelTest, OfAnotherOperationIsRefusedBeforeAnythingIsCompiled) {
  Runtime runtime(options_);
  const EngineContext context;
  EXPECT_EQ(code_of([&] { runtime.kernel<GemmKernel>(dequantize_spec()); }), "kernel.operation");
  EXPECT_EQ(code_of([&] { runtime.kernel<GemmKernel>(dequantize_spec(), nullptr); }),
            "kernel.operation");
  EXPECT_EQ(compilations_, 0);
}

// Wrong arguments do not compile.
template <class Handle, class Args, class = void>
struct Launches : std::false_type {};
template <class Handle, class Args>
struct Launches<Handle, Args,
                std::void_t<decltype(std::declval<const Handle&>().launch(
                    std::declval<const Args&>(), Stream()))>> : std::true_type {};

template <class Handle>
constexpr int kLaunches =
    Launches<Handle, GemmArgs>::value + Launches<Handle, DequantizeArgs>::value +
    Launches<Handle, RepackArgs>::value + Launches<Handle, QuantizeWeightArgs>::value +
    Launches<Handle, KvAppendArgs>::value + Launches<Handle, DecodeAttentionArgs>::value +
    Launches<Handle, RowTransformArgs>::value + Launches<Handle, MoeArgs>::value;

static_assert(kLaunches<Kernel> == 0);
static_assert(kLaunches<GemmKernel> == 1 && Launches<GemmKernel, GemmArgs>::value);
static_assert(kLaunches<DequantizeKernel> == 1 &&
              Launches<DequantizeKernel, DequantizeArgs>::value);
static_assert(kLaunches<RepackKernel> == 1 && Launches<RepackKernel, RepackArgs>::value);
static_assert(kLaunches<QuantizeWeightKernel> == 1 &&
              Launches<QuantizeWeightKernel, QuantizeWeightArgs>::value);
static_assert(kLaunches<KvAppendKernel> == 1 && Launches<KvAppendKernel, KvAppendArgs>::value);
static_assert(kLaunches<DecodeAttentionKernel> == 1 &&
              Launches<DecodeAttentionKernel, DecodeAttentionArgs>::value);
static_assert(kLaunches<RowTransformKernel> == 1 &&
              Launches<RowTransformKernel, RowTransformArgs>::value);
static_assert(kLaunches<MoeKernel> == 1 && Launches<MoeKernel, MoeArgs>::value);

// None is made by accident, and none is empty.
static_assert(!std::is_convertible_v<Kernel, GemmKernel>);
static_assert(!std::is_default_constructible_v<Kernel>);
static_assert(!std::is_default_constructible_v<GemmKernel>);

TEST_F(OperationKernelTest, IsStillOneAfterAMove) {
  Runtime runtime(options_);
  const EngineContext context;
  auto kernel = runtime.kernel<DequantizeKernel>(dequantize_spec());
  const DequantizeKernel moved = std::move(kernel);
  moved.launch(dequantize_args(), nullptr);
  kernel.launch(dequantize_args(), nullptr);  // NOLINT(bugprone-use-after-move): moving copies
  EXPECT_EQ(fake::launches().size(), 2U);
}

TEST_F(OperationKernelTest, NothingIsLaunchedOfWhatIsRefused) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto gemm = runtime.kernel<GemmKernel>(gemm_spec());
  const auto dequantize = runtime.kernel<DequantizeKernel>(dequantize_spec());
  GemmArgs args;
  args.m = 8;
  args.x = memory(0x1000, 8 * 512 * 2);
  args.weights = memory(0x2000);
  args.y = memory(0x3000, 8 * 256 * 2);
  args.workspace = memory(0x4000, gemm.max_workspace_bytes());
  const auto code = [&] { return code_of([&] { gemm.launch(args, nullptr); }); };
  --args.x.bytes;
  EXPECT_EQ(code(), "launch.too_small");
  args.x = memory(0x1008);
  EXPECT_EQ(code(), "launch.misaligned");
  args.x = {};
  EXPECT_EQ(code(), "launch.missing");
  args.x = memory(0x1000);
  args.bias = memory(0x5000);
  EXPECT_EQ(code(), "launch.unexpected");
  DequantizeArgs small = dequantize_args();
  small.w.bytes = 64 * 256 * 2 - 1;
  EXPECT_EQ(code_of([&] { dequantize.launch(small, nullptr); }), "launch.too_small");
  EXPECT_EQ(fake::launches().size(), 0U);
  args.bias = {};
  gemm.launch(args, nullptr);
  EXPECT_EQ(fake::launches().size(), 1U);
}

TEST_F(OperationKernelTest, AWorkspaceIsOfAnMThatTheSpecHas) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto gemm = runtime.kernel<GemmKernel>(gemm_spec(8));
  EXPECT_LE(gemm.workspace_bytes(8), gemm.max_workspace_bytes());
  EXPECT_EQ(code_of([&] { gemm.workspace_bytes(9); }), "launch.m");
  EXPECT_EQ(code_of([&] { gemm.workspace_bytes(-1); }), "launch.m");
}

}  // namespace
}  // namespace heddle
