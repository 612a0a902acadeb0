// What holds for the kernels that the planner chooses, whatever the costs of the families are.
#include "generator/planner/choose.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "generator/families/family.h"
#include "generator/families/registry.h"
#include "generator/families/shared_memory.h"
#include "generator/families/tiles/refuse.h"
#include "generator/families/warpgroup/refuse.h"
#include "generator/planner/predicted_times.h"
#include "generator/target/facts.h"
#include "tests/generator/planner/gemm_draws.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

constexpr double kRounding = 1 + 1e-9;

// Some specs for each known target.
void for_each_draw(unsigned seed, int of_target,
                   const std::function<void(const GemmDraw&)>& check) {
  GemmDraws draws(seed);
  for (const Target& target : known_targets()) {
    for (int i = 0; i < of_target; ++i) {
      const GemmDraw draw = draws.next(target);
      SCOPED_TRACE(draw.text());
      check(draw);
      if (testing::Test::HasFailure()) return;
    }
  }
}

Plan plan_of_draw(const GemmDraw& draw) { return plan_of(draw.spec, draw.target); }

struct Step {
  MRange m;
  std::vector<Candidate> candidates;  // the fastest first
};

std::vector<Step> steps_of(const GemmDraw& draw) {
  const GemmShape& shape = draw.spec.shape;
  const Plan plan = unplanned(draw.spec, draw.target);
  std::vector<Step> steps;
  std::int64_t first = shape.m_min;
  for (const std::int64_t last : token_steps(shape.m_min, shape.m_max)) {
    steps.push_back({{first, last}, all_candidates(plan, {first, last})});
    first = last + 1;
  }
  return steps;
}

bool has_few_tokens(const Step& step) { return step.m.max <= kFewTokens; }
double loss_of(const Step& step, double times) {
  return (has_few_tokens(step) ? 1 : kWeightOfMany) * std::log(times);
}
double tolerance_of(const Step& step, double of_many) {
  return has_few_tokens(step) ? kSameTime * kRounding : of_many;
}

// The least that any kernels lose of which every step has one within its tolerance, by numbers of
// kernels from one on; infinite where there are none. A step's first kMostExtended candidates may
// serve smaller M, too.
using Losses = std::array<double, kMostKernels>;
Losses least_losses(const Plan& plan, const std::vector<Step>& steps, double of_many) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<Losses> losses(steps.size());
  for (std::size_t last = 0; last < steps.size(); ++last) {
    losses[last].fill(kNever);
    const std::vector<Candidate>& all = steps[last].candidates;
    for (std::size_t i = 0; i < std::min(all.size(), kMostExtended); ++i) {
      const PlannedKernel& kernel = all[i].kernel;
      double own = 0;
      for (std::size_t first = last + 1; first-- > 0;) {
        const Candidate& fastest = steps[first].candidates.front();
        // The path that the spec asks for, wherever it serves.
        if (plan.spec.gemm().path != Path::kAuto && path_of(fastest.kernel) != path_of(kernel))
          break;
        const double times = predicted_us(plan, kernel, steps[first].m.max) / fastest.us;
        if (times > tolerance_of(steps[first], of_many)) break;
        own += loss_of(steps[first], times);
        if (first == 0) losses[last][0] = std::min(losses[last][0], own);
        for (std::size_t kernels = 1; first > 0 && kernels < kMostKernels; ++kernels) {
          const double all_of = losses[first - 1][kernels - 1] + own;
          losses[last][kernels] = std::min(losses[last][kernels], all_of);
        }
      }
    }
  }
  return losses.back();
}

double with_worth(double loss, std::size_t kernels) {
  return loss + static_cast<double>(kernels) * std::log(kKernelIsWorth);
}

TEST(Choose, StepsAscendToTheLastM) {
  for (const std::int64_t m_min : {1, 2, 3, 48, 49, 5000}) {
    for (const std::int64_t more : {0, 1, 15, 16, 4096, 1 << 30}) {
      const std::vector<std::int64_t> steps = token_steps(m_min, m_min + more);
      EXPECT_EQ(steps.back(), m_min + more);
      EXPECT_GE(steps.front(), m_min);
      EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end(), std::less_equal<>{}) ||
                  steps.size() == 1);
    }
  }
}

TEST(Choose, KernelsCoverEveryMOnceAndAreFew) {
  for_each_draw(1, 10, [](const GemmDraw& draw) {
    const Plan plan = plan_of_draw(draw);
    const GemmShape& shape = draw.spec.shape;
    std::int64_t next = shape.m_min;
    for (const PlannedKernel& kernel : plan.kernels) {
      EXPECT_EQ(kernel.size_min, next);
      EXPECT_GE(kernel.size_max, kernel.size_min);
      next = kernel.size_max + 1;
    }
    EXPECT_EQ(next, shape.m_max + 1);
    EXPECT_LE(plan.kernels.size(), kMostKernels);
  });
}

// The rule: at most kMostKernels, each at most kSameTime times as slow as the fastest at every
// step, or of many tokens a higher power of kSameTime, the lowest that suffices; of all such
// choices that which loses least, where a kernel more counts as kKernelIsWorth.
TEST(Choose, NoOtherKernelsWithinTheToleranceAreBetter) {
  for_each_draw(2, 10, [](const GemmDraw& draw) {
    const std::vector<Step> steps = steps_of(draw);
    const Plan plan = plan_of_draw(draw);
    double of_many = kSameTime * kRounding;
    Losses losses = least_losses(plan, steps, of_many);
    while (std::none_of(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); })) {
      of_many *= kSameTime;
      losses = least_losses(plan, steps, of_many);
    }
    double loss = 0;
    for (const Step& step : steps) {
      const PlannedKernel& kernel = plan.kernels[plan.kernel_for(step.m.max)];
      const double times = predicted_us(plan, kernel, step.m.max) / step.candidates.front().us;
      EXPECT_LE(times, tolerance_of(step, of_many)) << step.m.max;
      loss += loss_of(step, times);
    }
    ASSERT_LE(plan.kernels.size(), kMostKernels);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      EXPECT_LE(with_worth(loss, plan.kernels.size()), with_worth(losses[i], i + 1) + 1e-6)
          << "of " << i + 1 << " kernels";
    }
  });
}

TEST(Choose, CandidatesAreSortedByAPredictedTimeThatIsANumber) {
  for_each_draw(3, 20, [](const GemmDraw& draw) {
    for (const Step& step : steps_of(draw)) {
      double previous = 0;
      for (const Candidate& one : step.candidates) {
        EXPECT_TRUE(std::isfinite(one.us)) << kernel_label(one.kernel);
        EXPECT_GT(one.us, 0) << kernel_label(one.kernel);
        EXPECT_GE(one.us, previous);
        EXPECT_EQ(one.kernel.size_min, step.m.min);
        EXPECT_EQ(one.kernel.size_max, step.m.max);
        previous = one.us;
      }
    }
  });
}

// The costs of a family, but that no launch waits because of a block that fills its SM: with few
// tokens some kernels keep the next one waiting which do not with more.
std::vector<double> costs_of_work(const GemmFamily& family) {
  std::vector<double> costs;
  for (const CostParameter& one : family.cost_parameters()) {
    costs.push_back(one.name == "alone" ? 0 : one.value);
  }
  return costs;
}

// Where more tokens leave fewer tiles over, more blocks share each: that may take a little less.
constexpr double kLittle = 1.05;
TEST(Choose, MoreTokensOfAKernelTakeNoLessTime) {
  for_each_draw(4, 30, [](const GemmDraw& draw) {
    const Plan plan = unplanned(draw.spec, draw.target);
    for (const Step& step : steps_of(draw)) {
      for (const Candidate& one : step.candidates) {
        const GemmFamily& family = gemm_family_of(one.kernel);
        const std::vector<double> costs = costs_of_work(family);
        const auto us = [&](std::int64_t m) {
          return family.predicted_us(plan, one.kernel, LaunchSize{m}, costs);
        };
        EXPECT_GE(us(step.m.max) * kLittle, us(step.m.min))
            << step.m.max << ": " << kernel_label(one.kernel);
      }
    }
  });
}

// Also of ranges that are no step: those of tuned tables begin and end anywhere.
TEST(Choose, NoTwoCandidatesOfARangeHaveTheSameLabel) {
  for_each_draw(5, 20, [](const GemmDraw& draw) {
    const Plan plan = unplanned(draw.spec, draw.target);
    for (const Step& step : steps_of(draw)) {
      for (const MRange& m : {step.m, MRange{step.m.min, (step.m.min + step.m.max) / 2}}) {
        std::set<std::string> labels;
        for (const Candidate& one : all_candidates(plan, m)) {
          const std::string label =
              fmt::format("{} {}", one.kernel.family->name(), kernel_label(one.kernel));
          EXPECT_TRUE(labels.insert(label).second) << m.max << ": " << label;
        }
      }
    }
  });
}

// A tuned table finds a candidate by its label: whatever range of M the chosen kernel serves, and
// wherever among the others it was.
TEST(Choose, TheLabelOfAChosenKernelIsThatOfItsCandidate) {
  for_each_draw(6, 10, [](const GemmDraw& draw) {
    const std::vector<Step> steps = steps_of(draw);
    const Plan plan = plan_of_draw(draw);
    for (const PlannedKernel& kernel : plan.kernels) {
      const auto step = std::find_if(steps.begin(), steps.end(),
                                     [&](const Step& s) { return s.m.max == kernel.size_max; });
      ASSERT_NE(step, steps.end());
      const auto found =
          std::find_if(step->candidates.begin(), step->candidates.end(), [&](const Candidate& one) {
            return one.kernel.family == kernel.family &&
                   kernel_label(one.kernel) == kernel_label(kernel);
          });
      ASSERT_NE(found, step->candidates.end()) << kernel_label(kernel);
      const PlannedKernel planned = planned_kernel(plan, found->kernel, kernel.name);
      EXPECT_EQ(kernel.family->json(planned), kernel.family->json(kernel));
    }
  });
}

std::vector<Problem> reasons_against(const Plan& plan, const PlannedKernel& kernel) {
  const GemmSpec& spec = plan.spec.gemm();
  if (const auto* wgmma = config_if<WarpgroupKernel>(kernel)) {
    return refuse_wgmma(spec, plan.target, *wgmma);
  }
  const auto* tiles = config_if<device::TilesConfig>(kernel);
  if (tiles == nullptr) return {};  // what does not fit is no candidate of other families
  return is_bulk(kernel) ? refuse_bulk(*tiles, spec, plan.target, kernel.size_max)
                         : refuse_tile(*tiles, spec, plan.target, kernel.size_max);
}

TEST(Choose, ChosenKernelsFitTheTarget) {
  for_each_draw(7, 20, [](const GemmDraw& draw) {
    const Plan plan = plan_of_draw(draw);
    const Target& target = draw.target;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
      const PlannedKernel& kernel = plan.kernels[i];
      SCOPED_TRACE(kernel_label(kernel));
      EXPECT_LE(kernel.threads, 1024);
      EXPECT_LE(kernel.shared_bytes, target.shared_per_block);
      EXPECT_GE(kernel.blocks_per_sm, 1);
      EXPECT_LE(kernel.blocks_per_sm * kernel.threads, target.threads_per_sm);
      if (kernel.blocks_per_sm > 1) {
        EXPECT_LE(kernel.blocks_per_sm * (kernel.shared_bytes + kReservedSharedBytes),
                  target.shared_per_sm);
      }
      EXPECT_TRUE(reasons_against(plan, kernel).empty());
      // The compiler cannot do with fewer registers.
      constexpr int kFewestRegisters = 32;
      EXPECT_LE(kernel.blocks_per_sm * kernel.threads * kFewestRegisters, target.registers_per_sm);
      for (const std::int64_t m : {kernel.size_min, kernel.size_max}) {
        const KernelLaunch launch = plan.launch(i, {m});
        EXPECT_GE(launch.grid_x, 1U);
        EXPECT_LE(launch.grid_x, 2147483647U);
        EXPECT_LE(launch.grid_y, 65535U);
        EXPECT_LE(launch.grid_z, 65535U);
        EXPECT_LE(launch.cluster, target.arch() >= 90 ? 8U : 1U);
        EXPECT_EQ(launch.grid_x % launch.cluster, 0U);
      }
    }
  });
}

TEST(Choose, ThePathThatASpecAsksForServesWhereItCan) {
  for_each_draw(10, 10, [](const GemmDraw& draw) {
    const Path path = draw.spec.path;
    if (path == Path::kAuto) return;
    const Plan plan = plan_of_draw(draw);
    for (const Step& step : steps_of(draw)) {
      const Path chosen = path_of(kernel_at(plan, step.m.max));
      EXPECT_EQ(chosen, path_of(step.candidates.front().kernel)) << step.m.max;
      if (path != Path::kHopper) {
        EXPECT_EQ(chosen, path);
      }
    }
    EXPECT_EQ(path_of(plan.kernels.front()), path);
  });
}

TEST(Choose, IsPure) {
  for_each_draw(8, 3, [](const GemmDraw& draw) {
    EXPECT_EQ(plan_to_json(plan_of_draw(draw)), plan_to_json(plan_of_draw(draw)));
  });
}

// The driver calls a device by another name than the table: its plans are the same.
TEST(Choose, TheNameOfATargetMakesNoOtherKernels) {
  for_each_draw(9, 3, [](const GemmDraw& draw) {
    GemmDraw other = draw;
    other.target.name = "NVIDIA Some Other Name";
    const auto kernels = [](const GemmDraw& one) {
      return nlohmann::json::parse(plan_to_json(plan_of_draw(one))).at("kernels");
    };
    EXPECT_EQ(kernels(draw), kernels(other));
  });
}

}  // namespace
}  // namespace heddle
