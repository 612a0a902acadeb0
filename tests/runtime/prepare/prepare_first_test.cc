// Urgent kernels first: who serves which M, and when.
#include "tests/runtime/prepare/prepare_first.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "heddle/inspect/source.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::dequantize_spec;
using testing::EngineStream;
using testing::kMostM;
using testing::memory;
using testing::name_for;
using testing::wide_spec;

class PrepareFirstTest : public testing::PrepareFirst {};

TEST_F(PrepareFirstTest, UrgentMHaveTheirFinalKernelsAndOthersAreServed) {
  const Plan plan = final_plan(spec_);
  ASSERT_GT(plan.kernels.size(), 2U);
  const Preparation preparation = prepare_and_hold({spec_});
  const KernelRequest& request = preparation.requests().at(0);
  EXPECT_FALSE(request.ready());
  EXPECT_FALSE(preparation.status().ended);
  EXPECT_GT(preparation.status().total, 0U);
  const Kernel before = request.kernel(stream_->get());
  EXPECT_EQ(before.plan().spec.canonical_json(), spec_.canonical_json());
  for (const std::int64_t m : {1, 8}) {
    EXPECT_EQ(name_for(before, m), plan.kernels[plan.kernel_for(m)].name);
  }
  EXPECT_NE(name_for(before, kMostM), plan.kernels.back().name);
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{9}, std::int64_t{33}, kMostM}) {
    GemmArgs args;
    args.x = memory(0x10000);
    args.weights = memory(0x20000);
    args.y = memory(0x30000);
    args.workspace = memory(0x40000);
    args.m = m;
    GemmKernel(before).launch(args, stream_->get());
    EXPECT_EQ(fake::launches().back().kernel, name_for(before, m));
  }
  barrier_.open();
  preparation.wait();
  EXPECT_TRUE(request.ready());
  const PreparationStatus status = preparation.status();
  EXPECT_TRUE(status.ended);
  EXPECT_EQ(status.done, status.total);
  const Kernel after = request.kernel(stream_->get());
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{9}, std::int64_t{33}, kMostM}) {
    EXPECT_EQ(name_for(after, m), plan.kernels[plan.kernel_for(m)].name);
  }
  EXPECT_EQ(&runtime_->kernel(spec_).plan(), &after.plan()) << "and is prepared";
  EXPECT_EQ(&runtime_->prepare({spec_})[0].plan(), &after.plan());
}

TEST_F(PrepareFirstTest, NothingIsCompiledOrLoadedTwice) {
  const Plan plan = final_plan(spec_);
  const Preparation preparation = prepare_and_hold({spec_, spec_});
  EXPECT_EQ(preparation.requests().size(), 2U);
  barrier_.open();
  preparation.wait();
  // All of the plan, and the general one.
  EXPECT_EQ(made_, static_cast<int>(plan.kernel_count()) + 1);
  EXPECT_EQ(fake::count("cuLibraryLoadData"), static_cast<int>(plan.kernel_count()) + 1);
}

TEST_F(PrepareFirstTest, WorkspacesDoForBoth) {
  // Few rows, of a long K: the final kernels of many tokens share K by way of the workspace.
  constexpr std::int64_t kManyTokens = 300;
  GemmSpec gemm;
  gemm.shape = {1024, 8192, 1, kManyTokens};
  gemm.weight.zero_point = ZeroPoint::kInt;
  const Spec spec = Spec::from_gemm(gemm);
  const Plan plan = final_plan(spec);
  ASSERT_GT(plan.max_workspace_bytes(), 0U);
  const Preparation preparation = prepare_and_hold({spec});
  const GemmKernel before(preparation.requests()[0].kernel(stream_->get()));
  barrier_.open();
  const GemmKernel after(preparation.requests()[0].wait());
  EXPECT_LT(before.plan().max_workspace_bytes(), plan.max_workspace_bytes());
  EXPECT_EQ(before.max_workspace_bytes(), plan.max_workspace_bytes());
  EXPECT_EQ(before.max_workspace_bytes(), after.max_workspace_bytes());
  for (std::int64_t m = 1; m <= kManyTokens; ++m) {
    EXPECT_EQ(before.workspace_bytes(m), after.workspace_bytes(m));
    EXPECT_GE(before.workspace_bytes(m), plan.workspace_bytes(m));
    EXPECT_LE(before.workspace_bytes(m), before.max_workspace_bytes());
  }
}

TEST_F(PrepareFirstTest, ACaptureKeepsWhatItBeganWith) {
  EngineStream early, eager;
  const Preparation preparation = prepare_and_hold({spec_});
  early.begin_capture();
  const Kernel general = runtime_->kernel(spec_, early.get());
  EXPECT_EQ(&general.plan(), &preparation.requests()[0].kernel(early.get()).plan());
  EXPECT_EQ(&general.plan(), &runtime_->request(spec_).kernel(early.get()).plan());
  barrier_.open();
  preparation.wait();
  EXPECT_NE(&general.plan(), &runtime_->kernel(spec_, eager.get()).plan()) << "it has changed over";
  EXPECT_EQ(&general.plan(), &runtime_->kernel(spec_, early.get()).plan()) << "not where it began";
  EXPECT_TRUE(early.end_capture()) << "the background loads code in spite of it";
  EXPECT_NE(&general.plan(), &runtime_->kernel(spec_, early.get()).plan());
}

TEST_F(PrepareFirstTest, WhatTheCacheHasIsThereAtOnce) {
  Runtime(options_).build(render_all(final_plan(spec_)));
  const int compiled = made_.load();
  const Preparation preparation = runtime_->prepare({spec_}, {{1, 8}});
  EXPECT_TRUE(preparation.requests()[0].ready());
  EXPECT_TRUE(preparation.status().ended);
  EXPECT_EQ(preparation.status().total, 0U);
  EXPECT_EQ(made_, compiled) << "nor a general kernel";
  options_.strict = true;
  Runtime strict(options_);
  EXPECT_TRUE(strict.prepare({spec_}, {{1, 8}}).status().ended);
}

TEST_F(PrepareFirstTest, FoundKernelsServeTheirOwnM) {
  const Plan plan = final_plan(spec_);
  Runtime(options_).build({render(plan, plan.kernels.size() - 1)});
  const Preparation preparation = prepare_and_hold({spec_});
  const Kernel meanwhile = preparation.requests()[0].kernel(nullptr);
  EXPECT_EQ(name_for(meanwhile, kMostM), last_name(spec_));
  EXPECT_EQ(name_for(meanwhile, 17), last_name(spec_))
      << "it serves fewer tokens, too: no general kernel";
  barrier_.open();
  preparation.wait();
  EXPECT_EQ(made_, static_cast<int>(plan.kernel_count()));
}

TEST_F(PrepareFirstTest, StrictRuntimesNeedAll) {
  options_.strict = true;
  Runtime runtime(options_);
  std::string what;
  EXPECT_EQ(code_of(
                [&] {
                  runtime.prepare({wide_spec()}, {{1, 8}});
                },
                &what),
            "runtime.not_in_cache");
  EXPECT_NE(what.find("add this spec"), std::string::npos) << what;
}

TEST_F(PrepareFirstTest, OperationsWithoutMAreUrgent) {
  const Preparation preparation = runtime_->prepare({dequantize_spec()}, {{1, 8}});
  EXPECT_TRUE(preparation.requests()[0].ready());
}

TEST_F(PrepareFirstTest, EverySpecMayHaveARangeOfItsOwn) {
  const std::vector<Spec> specs = {wide_spec(256), wide_spec(512)};
  const Preparation preparation = prepare_and_hold(specs, {{1, 8}, {40, kMostM}});
  const auto has_final = [&](std::size_t spec, std::int64_t m) {
    const Plan plan = final_plan(specs[spec]);
    return name_for(preparation.requests()[spec].kernel(nullptr), m) ==
           plan.kernels[plan.kernel_for(m)].name;
  };
  EXPECT_TRUE(has_final(0, 8));
  EXPECT_FALSE(has_final(0, kMostM));
  EXPECT_TRUE(has_final(1, 40));
  EXPECT_TRUE(has_final(1, kMostM));
  EXPECT_FALSE(has_final(1, 8));
  barrier_.open();
  preparation.wait();
}

TEST_F(PrepareFirstTest, RangesThatAreNoneAreRefused) {
  for (const std::vector<MRange>& urgent :
       {std::vector<MRange>{}, {{1, 8}, {1, 8}, {1, 8}}, {{0, 8}}, {{8, 7}}, {{-4, -1}}}) {
    EXPECT_EQ(code_of([&] { runtime_->prepare({spec_, spec_}, urgent); }), "runtime.urgent");
  }
  EXPECT_EQ(made_, 0);
}

TEST_F(PrepareFirstTest, RangesThatNoSpecHasAreRefusedByName) {
  GemmSpec prefill = wide_spec(512).gemm();
  prefill.shape.m_min = 32;
  const std::vector<Spec> specs = {wide_spec(), Spec::from_gemm(prefill)};
  for (const std::vector<MRange>& urgent :
       {std::vector<MRange>{{kMostM + 1, kMostM + 9}}, {{1, 8}, {1, 31}}}) {
    std::string what;
    EXPECT_EQ(code_of([&] { runtime_->prepare(specs, urgent); }, &what), "runtime.urgent");
    EXPECT_NE(
        what.find("specs[1]: /shape/m: the urgent range " + std::to_string(urgent.back().min) +
                  " to " + std::to_string(urgent.back().max)),
        std::string::npos)
        << what;
    EXPECT_NE(what.find("32 to 48"), std::string::npos) << what;
  }
  // A field of another name.
  MoeSpec layer;
  layer.shape = {.hidden = 256, .intermediate = 128, .experts = 8, .top_k = 2, .tokens_max = 50};
  std::string of_layer;
  EXPECT_EQ(code_of(
                [&] {
                  runtime_->prepare({Spec::from_moe(layer)}, {{51, 60}});
                },
                &of_layer),
            "runtime.urgent");
  EXPECT_NE(of_layer.find("specs[0]: /shape/tokens: the urgent range 51 to 60"), std::string::npos)
      << of_layer;
  EXPECT_EQ(made_, 0);
  // What is urgent of one spec may be outside of another's, where the range is for all.
  EXPECT_NO_THROW(runtime_->prepare(specs, {{1, 8}}).wait());
  EXPECT_NO_THROW(runtime_->prepare({dequantize_spec(), specs[1]}, {{1, 1}, {1, 32}}).wait());
}

TEST_F(PrepareFirstTest, SpecsAreRecordedOnce) {
  options_.record_file = (folder_.path() / "record").string();
  Runtime(options_).prepare({wide_spec(), wide_spec()}, {{1, 8}}).wait();
  std::ifstream file(options_.record_file);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) ++lines;
  EXPECT_EQ(lines, 1);
}

}  // namespace
}  // namespace heddle
