// One workspace for launches of different operations in a row, zeroed once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/operations.h"
#include "runtime/driver/context.h"
#include "tests/gpu/gpu_fixture.h"
#include "tools/gpu_harness/operations/decode_attention/device.h"
#include "tools/gpu_harness/operations/decode_attention/problem.h"
#include "tools/gpu_harness/operations/gemm/data.h"

namespace heddle {
namespace {

class WorkspaceGpu : public OnGpu {};

using Bits = std::vector<unsigned char>;

Bits downloaded(const DeviceBuffer& buffer, const OwnedStream& stream) {
  Bits bits(buffer.bytes());
  buffer.download(bits.data(), 0, bits.size(), stream);
  return bits;
}

GemmSpec long_rows() {
  GemmSpec spec;
  spec.shape = {512, 16384, 1, 64};
  spec.tile.split_k = 4;  // whose sums and counters lie in the workspace
  return spec;
}

DecodeAttentionSpec few_heads() {
  DecodeAttentionSpec spec;
  spec.shape.heads = 8;
  spec.shape.kv_heads = 2;
  spec.shape.head_dim = 128;
  return spec;
}

// Both leave the counters zeroed, and neither takes the other's sums for counters.
TEST_F(WorkspaceGpu, GemmAndAttentionInTurnsGiveTheBitsThatTheyGiveAlone) {
  const cuda::CurrentContext context;
  const auto gemm = runtime().kernel<GemmKernel>(Spec::from_gemm(long_rows()));
  const Spec spec = Spec::from_decode_attention(few_heads());
  const auto attention = runtime().kernel<DecodeAttentionKernel>(spec);
  const AttentionProblem attended =
      make_attention_problem(spec.decode_attention(), {3000, 1, 0, 2047}, 1);
  const GemmData multiplied(gemm, 64);
  const OwnedStream& stream = multiplied.stream();
  const DeviceAttention device(resolve(spec, target()), attended, stream);
  DecodeAttentionArgs attention_args = device.args();
  ASSERT_GT(gemm.max_workspace_bytes(), 0);
  ASSERT_GT(attention_args.workspace.bytes, 0);

  DeviceBuffer out(2 * attended.q.size());
  attention_args.out = out.memory();
  attention.launch(attention_args, stream.get());
  const Bits alone = downloaded(out, stream);

  DeviceBuffer shared(
      std::max<std::size_t>(gemm.max_workspace_bytes(), attention_args.workspace.bytes));
  shared.fill(0, stream);
  attention_args.workspace = shared.memory();
  for (const std::int64_t m : {1, 16, 64}) {
    GemmArgs args = multiplied.args(m);
    DeviceBuffer y(static_cast<std::size_t>(2 * m * long_rows().shape.n));
    args.y = y.memory();
    gemm.launch(args, stream.get());
    const Bits expected = downloaded(y, stream);
    args.workspace = shared.memory();
    for (int turn = 0; turn < 3; ++turn) {
      y.fill(0xff, stream);
      out.fill(0xff, stream);
      gemm.launch(args, stream.get());
      attention.launch(attention_args, stream.get());
      EXPECT_EQ(downloaded(y, stream), expected) << "M = " << m << ", turn " << turn;
      EXPECT_EQ(downloaded(out, stream), alone) << "M = " << m << ", turn " << turn;
    }
  }
}

}  // namespace
}  // namespace heddle
