// What `heddle explain` says of a plan's choice.
#include "generator/planner/explain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "generator/families/registry.h"
#include "tests/generator/planner/gemm_draws.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

TEST(Explain, TheChosenOneHasItsPlaceAmongAllCandidates) {
  const Plan plan = plan_of(small_spec(), "h200");
  for (const std::int64_t m : {1, 3, 16, 30, 64, 300, 5000}) {
    const Explanation one = explain_choice(plan, m);
    EXPECT_EQ(one.size.size, m);
    EXPECT_LE(one.step.min, m);
    EXPECT_GE(one.step.max, m);
    ASSERT_LT(one.chosen, one.candidates.size());
    EXPECT_TRUE(
        is_same_kernel(one.candidates[one.chosen].plan.kernels.front(), kernel_at(plan, m)));
    EXPECT_LE(one.candidates.size(), candidate_plans(plan, m).size());
    EXPECT_GE(one.candidates.size() + 1, candidate_plans(plan, m).size());
    EXPECT_TRUE(
        std::is_sorted(one.candidates.begin(), one.candidates.end(),
                       [](const CandidatePlan& a, const CandidatePlan& b) { return a.us < b.us; }));
    EXPECT_EQ(one.chosen_range.min, kernel_at(plan, m).size_min);
    EXPECT_EQ(one.chosen_range.max, kernel_at(plan, m).size_max);
  }
}

// Where two have one configuration and one time, they are listed once: a reader could not tell them
// apart. The plan's kernel, which serves more tokens, is the one that is also a candidate of the
// step.
TEST(Explain, NoKernelIsListedTwice) {
  int merged = 0;
  for (const char* target : {"h200", "a100", "t4"}) {
    const Plan plan = plan_of(small_spec(), target);
    for (const std::int64_t m : {1, 3, 9, 16, 64, 100, 300, 2000}) {
      const Explanation one = explain_choice(plan, m);
      merged += static_cast<int>(candidate_plans(plan, m).size() - one.candidates.size());
      std::set<std::string> seen;
      for (const CandidatePlan& candidate : one.candidates) {
        const PlannedKernel& kernel = candidate.plan.kernels.front();
        const std::string row =
            fmt::format("{} {} at {}", kernel.family->name(), kernel_label(kernel), candidate.us);
        EXPECT_TRUE(seen.insert(row).second) << target << ", M = " << m << ": " << row;
      }
    }
  }
  EXPECT_GT(merged, 0);
}

TEST(Explain, SaysFastestExactlyWhereItIs) {
  GemmDraws draws(11);
  for (const Target& target : known_targets()) {
    const GemmDraw draw = draws.next(target);
    SCOPED_TRACE(draw.text());
    if (draw.spec.path != Path::kAuto) continue;
    const Plan plan = resolve(Spec::from_gemm(draw.spec), draw.target);
    for (const std::int64_t m : token_steps(draw.spec.shape.m_min, draw.spec.shape.m_max)) {
      const Explanation one = explain_choice(plan, m);
      const bool is_fastest =
          one.candidates[one.chosen].us <= one.candidates.front().us * (1 + 1e-12);
      EXPECT_EQ(one.why.rfind("it is predicted to be the fastest", 0) == 0, is_fastest) << one.why;
      if (is_fastest) continue;
      EXPECT_NE(one.why.find(" % more than the fastest, and "), one.why.npos) << one.why;
    }
  }
}

// A kernel of a later step may have the label of one of this step, and is another.
TEST(Explain, TheSentenceAndTheTableAgree) {
  bool has_slower = false;
  for (const int bits : {2, 4, 8}) {
    GemmSpec spec = small_spec();
    spec.weight.bits = bits;
    const Plan plan = plan_of(spec, "h200");
    for (const std::int64_t m : token_steps(spec.shape.m_min, spec.shape.m_max)) {
      const Explanation one = explain_choice(plan, m);
      const double more = 100 * (one.candidates[one.chosen].us / one.candidates.front().us - 1);
      const std::string sentence =
          fmt::format("it is predicted to take {:.1f} % more than the fastest, ", more);
      has_slower = has_slower || one.chosen != 0;
      EXPECT_EQ(one.why.rfind(one.chosen == 0 ? "it is predicted to be the fastest" : sentence, 0),
                0U)
          << bits << " bits, M = " << m << ": " << one.why;
    }
  }
  EXPECT_TRUE(has_slower);
}

TEST(Explain, AFamilyWithCandidatesIsNotAbsent) {
  std::vector<GemmSpec> specs(4, small_spec());
  specs[1].path = specs[2].path = specs[3].path = Path::kHopper;
  specs[2].tile.stages = 3;
  specs[3].shape.m_min = 9;
  for (const GemmSpec& spec : specs) {
    for (const char* target : {"h200", "b200"}) {
      if (plan_error(Spec::from_gemm(spec), target)) continue;
      const Plan plan = plan_of(spec, target);
      for (const std::int64_t m : token_steps(spec.shape.m_min, spec.shape.m_max)) {
        const Explanation one = explain_choice(plan, m);
        std::set<const Family*> families;
        for (const CandidatePlan& candidate : one.candidates) {
          families.insert(candidate.plan.kernels.front().family);
        }
        for (const AbsentFamily& absent : one.absent) families.erase(absent.family);
        EXPECT_EQ(families.size() + one.absent.size(), gemm_families().size()) << target << m;
      }
    }
  }
}

TEST(Explain, InsideOfAStepItSaysWhichMDecides) {
  const Plan plan = plan_of(small_spec(), "h200");
  const Explanation one = explain_choice(plan, 3);
  EXPECT_NE(one.why.find("for 4 tokens, the most of its step of M 3 to 4"), one.why.npos)
      << one.why;
  EXPECT_EQ(explain_choice(plan, 4).why.find("of its step"), std::string::npos);
}

TEST(Explain, EveryFamilyHasCandidatesOrAReason) {
  GemmDraws draws(12);
  for (const Target& target : known_targets()) {
    const GemmDraw draw = draws.next(target);
    SCOPED_TRACE(draw.text());
    const Plan plan = resolve(Spec::from_gemm(draw.spec), draw.target);
    for (const std::int64_t m : token_steps(draw.spec.shape.m_min, draw.spec.shape.m_max)) {
      const Explanation one = explain_choice(plan, m);
      std::set<const Family*> seen;
      for (const CandidatePlan& candidate : one.candidates) {
        const PlannedKernel& kernel = candidate.plan.kernels.front();
        seen.insert(kernel.family);
        EXPECT_GE(register_budget(kernel, draw.target), 16);
        EXPECT_LE(register_budget(kernel, draw.target), 255);
      }
      for (const AbsentFamily& absent : one.absent) {
        EXPECT_FALSE(absent.why.empty());
        seen.insert(absent.family);
      }
      EXPECT_EQ(seen.size(), gemm_families().size());
    }
  }
}

TEST(Explain, AMeasuredKernelIsTheTables) {
  const Spec spec = Spec::from_gemm(small_spec());
  const Target target = target_from_name("h200");
  const Explanation predicted = explain_choice(resolve(spec, target, TunedTables()), 16);
  const std::size_t place = predicted.chosen == 5 ? 6 : 5;
  const PlannedKernel& kernel = predicted.candidates[place].plan.kernels.front();
  TunedEntry entry;
  entry.weight = small_spec().weight;
  entry.activation = small_spec().activation;
  entry.n = small_spec().shape.n;
  entry.k = small_spec().shape.k;
  entry.m_first = 9;
  entry.m_last = 16;
  entry.family = kernel.family->name();
  entry.family_version = tuned_family_versions().at(entry.family);
  entry.kernel = kernel_label(kernel);
  entry.us = 9.5;
  const TunedTable table = TunedTable::from_entries("h200", {entry});
  TunedTables tables;
  tables.add(table);
  const Plan plan = resolve(spec, target, tables);
  const Explanation one = explain_choice(plan, 16, &table);
  EXPECT_EQ(kernel_label(one.candidates[one.chosen].plan.kernels.front()), entry.kernel);
  EXPECT_EQ(one.why, "the tuned table h200 has it for M 9 to 16, measured 9.50 us at M = 16");
  // The table has nothing for other numbers of tokens; they are planned by themselves.
  const Explanation other = explain_choice(plan, 20, &table);
  EXPECT_EQ(other.why.find("table"), std::string::npos);
  EXPECT_EQ(other.step.min, 17);
  // What was measured with 16 tokens says nothing of fewer, which have a kernel of their own.
  GemmSpec few = small_spec();
  few.shape.m_max = 12;
  const Plan cut = resolve(Spec::from_gemm(few), target, tables);
  EXPECT_EQ(explain_choice(cut, 12, &table).why.find("measured"), std::string::npos);
}

std::string why_no(const char* family, const GemmSpec& spec, const char* target, std::int64_t m) {
  for (const AbsentFamily& absent : explain_choice(plan_of(spec, target), m).absent) {
    if (absent.family->name() == family) return absent.why;
  }
  return "";
}

TEST(Explain, TheReasonIsTheFamilysOwn) {
  EXPECT_EQ(why_no("stream", small_spec(), "a100", 1),
            "it needs bulk copies, which GPUs have from sm_90 on");
  EXPECT_EQ(why_no("warpgroup", small_spec(), "b200", 64), "it needs wgmma, which sm_90 alone has");
  EXPECT_EQ(why_no("warpgroup", small_spec(), "h200", 1), "it serves 9 tokens and more");
  EXPECT_EQ(why_no("stream", small_spec(), "h200", 64), "it serves up to 16 tokens");
  EXPECT_EQ(why_no("tiles", small_spec(), "h200", 300),
            "on sm_90 bulk copies feed its tiles, which then have up to 64 tokens");
  EXPECT_EQ(why_no("stream", older_spec(4096, 4096), "h200", 1), "the spec asks for another path");
  GemmSpec tiled = small_spec();
  tiled.tile.stages = 3;
  EXPECT_EQ(why_no("warpgroup", tiled, "h200", 64), "the spec sets a tile without the path hopper");
  EXPECT_EQ(why_no("tiles", small_spec(), "h200", 16), "");
  GemmSpec hopper = small_spec();
  hopper.path = Path::kHopper;
  EXPECT_NE(why_no("tiles", hopper, "b200", 4).find("on sm_90 alone"), std::string::npos);
  EXPECT_EQ(why_no("tiles", hopper, "b200", 32), "") << "larger M go as by the path ampere";
  hopper.tile.stages = 3;
  EXPECT_NE(why_no("tiles", hopper, "h100", 4).find("a tile without warps_n"), std::string::npos);
}

TEST(ExplainChoice, SaysWhoFindsScalesOfOutputs) {
  GemmSpec spec = with_groups(small_spec(), DType::kInt8);
  for (const char* family : {"gemv", "stream"}) {
    EXPECT_EQ(why_no(family, spec, "h200", 1),
              "its threads do not meet to find the scale of 128 outputs");
  }
  EXPECT_EQ(why_no("tiles", spec, "a100", 1), "");
  for (const Path path : {Path::kAuto, Path::kHopper}) {
    spec.path = path;
    EXPECT_EQ(why_no("tiles", spec, "h200", 1).rfind("its tiles that bulk copies feed", 0), 0U);
  }
  spec.path = Path::kAuto;
  spec.tile.m = 64;
  EXPECT_EQ(why_no("tiles", spec, "h200", 1), "the spec's tile is one of warpgroup");
}

}  // namespace
}  // namespace heddle
