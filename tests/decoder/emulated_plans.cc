#include <set>
#include <stdexcept>
#include <string>

#include "examples/decoder/model.h"
#include "generator/families/family.h"
#include "tests/decoder/emulated_kernels.h"
#include "tests/decoder/small_model.h"
#include "tests/shared_runtime.h"

namespace heddle {
namespace {

constexpr std::int64_t kSequences = 3;

// The plan's kernel that serves so many rows.
void add(const Plan& plan, std::int64_t rows, std::vector<Plan>* to) {
  for (const PlannedKernel& kernel : plan.kernels) {
    if (rows < kernel.size_min || rows > kernel.size_max) continue;
    Plan one = plan;
    one.kernels = {kernel};
    to->push_back(std::move(one));
    return;
  }
  throw std::logic_error("no kernel for so many rows");
}

void add(const Spec& spec, DecoderPlans* plans) {
  const Plan plan = resolve(spec, runtime().device_target());
  switch (spec.op()) {
    case Op::kGemm:
      add(plan, kSequences, &plans->tiles);
      if (plan.kernels.size() > 1) add(plan, kChunk * kSequences, &plans->tiles);
      break;
    case Op::kMoe:
      for (const std::int64_t tokens : {kSequences, kChunk * kSequences}) {
        std::vector<Plan> one;
        add(plan, tokens, &one);
        const bool few = one.front().kernels.front().family->name() == "few_experts";
        (few ? plans->few_experts : plans->experts).push_back(one.front());
        if (plan.kernels.size() == 1) break;
      }
      break;
    case Op::kDecodeAttention:
      plans->attention.push_back(plan);
      break;
    case Op::kKvAppend:
      plans->append.push_back(plan);
      break;
    default:
      plans->rows.push_back(plan);
  }
}

}  // namespace

DecoderPlans decoder_plans() {
  DecoderPlans plans;
  std::set<std::string> added;
  const auto add_all = [&](const SmallModel& small, const TensorParallel& parallel) {
    const TemporaryFolder folder;
    small.write(folder);
    const ::Model model(folder.path(), "int8:head", kSequences, 0, 0, parallel);
    for (const Spec& spec : model.specs()) {
      if (added.insert(spec.canonical_json()).second) add(spec, &plans);
    }
  };
  add_all(small_llama(), {});
  add_all(small_qwen3(false), {});
  for (int rank = 0; rank < 2; ++rank) {
    add_all(small_llama(), {rank, 2});
    add_all(small_gpt_oss(), {rank, 2});
  }
  for (const SmallModel& small :
       {small_mixtral(), small_mixtral(true), small_qwen3_moe(), small_gpt_oss()}) {
    add_all(small, {});
  }
  for (const auto* all : {&plans.tiles, &plans.attention, &plans.append, &plans.rows,
                          &plans.experts, &plans.few_experts}) {
    for (const Plan& plan : *all) {
      if (plan.kernels.size() != 1) throw std::logic_error("a plan of several kernels");
    }
  }
  return plans;
}

}  // namespace heddle
