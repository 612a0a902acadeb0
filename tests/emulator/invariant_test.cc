// Family::arithmetic() tells the truth: kernels that say that they add alike give a token the same
// bits, whatever their tiles are and however many tokens a launch has.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "generator/families/family.h"
#include "generator/families/gemm_config.h"
#include "runtime/launch/group_scales.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/gemm_check.h"
#include "tests/emulator/invariant_cases.h"
#include "tests/emulator/invariant_kernels.h"
#include "tests/emulator/moe_run.h"

namespace heddle {
namespace {

using Bytes = std::vector<std::uint8_t>;

// What a kernel with wgmma is called with beside the problem's memory, as the launch has it.
struct WgmmaLaunch {
  emulator::TensorMap tokens, token_scales;
  device::WeightShape shape;
  int shared_tiles;
};

WgmmaLaunch wgmma_launch(const Plan& plan, const GemmProblem::Buffers& b, int m) {
  const GemmSpec& spec = plan.spec.gemm();
  const PlannedKernel& kernel = plan.kernels.front();
  // Codes of eight bits lie in the map in pairs.
  const auto columns = static_cast<int>(spec.shape.k) * bytes_of(spec.activation) / 2;
  const auto lines = static_cast<int>(group_scales(spec).lines());
  return {{b.x, m, columns, kernel.tokens_of_box(m)},
          {b.x_scales, lines, m, 1, kernel.box_tokens, b.x_scale_stride},
          weight_shape(spec, plan.layout),
          plan.launch(0, {m}).schedule};
}

GemmThread thread_of(const InvariantKernel& one) {
  const Plan& plan = one.plan;
  switch (one.kind) {
    case InvariantKind::kBulk:
      return [&plan, kernel = invariant_bulk_kernels[one.number]](const GemmProblem::Buffers& b,
                                                                  std::uint8_t* workspace, int m) {
        kernel({b.x, m, static_cast<int>(plan.spec.gemm().shape.k), m}, b.weights, b.y, b.bias,
               b.residual, workspace, m);
      };
    case InvariantKind::kWgmma:
      return [&plan, kernel = invariant_wgmma_kernels[one.number]](const GemmProblem::Buffers& b,
                                                                   std::uint8_t* workspace, int m) {
        const WgmmaLaunch launch = wgmma_launch(plan, b, m);
        kernel(launch.tokens, b.weights, b.y, b.bias, b.residual, workspace, launch.shape, m,
               launch.shared_tiles);
      };
    case InvariantKind::kWgmmaBytes:
      return [&plan, kernel = invariant_bytes_kernels[one.number]](const GemmProblem::Buffers& b,
                                                                   std::uint8_t* workspace, int m) {
        const WgmmaLaunch launch = wgmma_launch(plan, b, m);
        kernel(launch.tokens, b.weights, b.x_scales, b.x_zero_points, b.y, b.bias, b.residual,
               workspace, launch.shape, m, launch.shared_tiles);
      };
    case InvariantKind::kWgmmaBlocks:
      return [&plan, kernel = invariant_blocks_kernels[one.number]](
                 const GemmProblem::Buffers& b, std::uint8_t* workspace, int m) {
        const WgmmaLaunch launch = wgmma_launch(plan, b, m);
        kernel(launch.tokens, launch.token_scales, b.weights, b.y, b.bias, b.residual, workspace,
               launch.shape, m, launch.shared_tiles);
      };
    case InvariantKind::kByteTiles:
      return [kernel = invariant_byte_tiles_kernels[one.number]](const GemmProblem::Buffers& b,
                                                                 std::uint8_t* workspace, int m) {
        kernel(b.x, b.weights, b.x_scales, b.x_zero_points, b.y, b.bias, b.residual, workspace, m);
      };
    default:
      return heddle::thread_of(invariant_gemm_kernels[one.number]);
  }
}

// Runs the kernels of a group.
class GroupRun {
 public:
  virtual ~GroupRun() = default;
  // Y of the first tokens of the problem, of a launch with so many.
  virtual Bytes y(const InvariantKernel& kernel, std::int64_t tokens) const = 0;
};

class GemmGroup : public GroupRun {
 public:
  explicit GemmGroup(const GemmSpec& spec) : problem_(spec) {}

  Bytes y(const InvariantKernel& kernel, std::int64_t tokens) const override {
    return run_gemm(kernel.plan, problem_, thread_of(kernel), tokens, 1);
  }

 private:
  const GemmProblem problem_;
};

// Choices of the first tokens are the same, however many there are.
class MoeGroup : public GroupRun {
 public:
  explicit MoeGroup(const MoeSpec& spec)
      : problem_(spec),
        choices_(emulated_choices(spec, spec.shape.tokens_max, EmulatedRouting::kUniform, 3)) {}

  Bytes y(const InvariantKernel& kernel, std::int64_t tokens) const override {
    EmulatedChoices choices = choices_;
    const auto count = static_cast<std::size_t>(tokens * kernel.plan.spec.moe().shape.top_k);
    choices.ids.resize(count);
    choices.weights.resize(count);
    const MoeThread thread =
        kernel.kind == InvariantKind::kMoeWgmma
            ? heddle::thread_of(kernel.plan, invariant_moe_wgmma_kernels[kernel.number])
            : heddle::thread_of(invariant_moe_kernels[kernel.number]);
    const std::vector<std::uint16_t> y = MoeRun(kernel.plan, problem_, thread).run(choices, 1);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(y.data());
    return {bytes, bytes + 2 * y.size()};
  }

 private:
  const EmulatedMoe problem_;
  const EmulatedChoices choices_;
};

std::unique_ptr<GroupRun> run_of(const InvariantGroup& group) {
  const Spec& spec = group.kernels.front().plan.spec;
  if (spec.get_if<GemmSpec>() != nullptr) return std::make_unique<GemmGroup>(spec.gemm());
  return std::make_unique<MoeGroup>(spec.moe());
}

// Of what a launch with so many tokens wrote, that of the first `count` of them.
Bytes first_tokens(const Bytes& y, std::int64_t tokens, std::int64_t count) {
  const std::size_t of_token = y.size() / static_cast<std::size_t>(tokens);
  return {y.begin(), y.begin() + static_cast<std::ptrdiff_t>(of_token) * count};
}

// The tokens of the kernel's launches: fewer than it was chosen for, and as many as that.
std::set<std::int64_t> sizes_of(const InvariantKernel& kernel, std::int64_t compared) {
  const PlannedKernel& planned = kernel.plan.kernels.front();
  return {std::min(planned.size_max, compared), std::min(planned.size_max, compared + 3),
          planned.size_max - planned.size_max / 5};
}

// Whether outputs have the bits of the sums, so that other sums have other bits.
bool shows_sums(const Spec& spec) {
  const GemmSpec* const gemm = spec.get_if<GemmSpec>();
  return gemm != nullptr && gemm->output == DType::kFp32;
}

class EmulatedInvariant : public testing::TestWithParam<std::size_t> {};

TEST_P(EmulatedInvariant, KernelsOfOneArithmeticHaveTheSameBits) {
  const InvariantGroup& group = invariant_groups()[GetParam()];
  const std::unique_ptr<GroupRun> run = run_of(group);
  const InvariantKernel& first = group.kernels.front();
  const std::int64_t compared = std::min<std::int64_t>(first.plan.kernels.front().size_max, 8);
  const Bytes expected = run->y(first, compared);
  for (const InvariantKernel& kernel : group.kernels) {
    const bool is_alike = kernel.arithmetic == first.arithmetic;
    EXPECT_EQ(is_alike, &kernel != &group.kernels.back());
    for (const std::int64_t tokens : sizes_of(kernel, compared)) {
      if (tokens < compared) continue;
      SCOPED_TRACE(fmt::format(
          "{}, {} tokens",
          kernel.plan.kernels.front().family->describe(kernel.plan.kernels.front()), tokens));
      const Bytes y = first_tokens(run->y(kernel, tokens), tokens, compared);
      if (is_alike) {
        EXPECT_TRUE(y == expected) << first.arithmetic;
      } else if (shows_sums(first.plan.spec)) {
        EXPECT_FALSE(y == expected) << first.arithmetic << " and " << kernel.arithmetic;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, EmulatedInvariant, numbers_of<invariant_groups>(),
                         name_of<invariant_groups>);

}  // namespace
}  // namespace heddle
