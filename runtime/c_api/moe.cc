// The C API of a layer of experts.
#include <cstddef>
#include <memory>

#include "generator/operations/operation.h"
#include "generator/spec/refuse_if_any.h"
#include "heddle/kernel.h"
#include "heddle/operations.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/parameters.h"
#include "runtime/c_api/structs.h"
#include "runtime/launch/moe_launch.h"

namespace heddle::c_api {
namespace {

MoeArgs to_cpp(const heddle_moe_args* args) {
  const heddle_moe_args given = read_struct(args, "heddle_moe_args");
  MoeArgs launch;
  launch.x = memory_of(given.x);
  launch.gate_up = memory_of(given.gate_up);
  launch.down = memory_of(given.down);
  launch.ids = memory_of(given.ids);
  launch.weights = memory_of(given.weights);
  launch.y = memory_of(given.y);
  launch.tokens = given.tokens;
  launch.gate_up_bias = memory_of(given.gate_up_bias);
  launch.down_bias = memory_of(given.down_bias);
  launch.residual = memory_of(given.residual);
  launch.workspace = memory_of(given.workspace);
  launch.shared_gates = memory_of(given.shared_gates);
  launch.permutation = memory_of(given.permutation);
  launch.logits = memory_of(given.logits);
  launch.correction_bias = memory_of(given.correction_bias);
  launch.expert_scales = memory_of(given.expert_scales);
  launch.chosen_ids = memory_of(given.chosen_ids);
  launch.chosen_weights = memory_of(given.chosen_weights);
  return launch;
}

}  // namespace
}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::need;

heddle_status heddle_launch_moe(const heddle_kernel* kernel, const heddle_moe_args* args,
                                void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    const heddle::MoeArgs launch = heddle::c_api::to_cpp(args);
    heddle::launch(heddle::c_api::state_of(kernel, heddle::MoeKernel::kOp), launch, stream);
  });
}

heddle_status heddle_moe_gemms(const char* spec, size_t spec_length, heddle_spec** gate_up,
                               heddle_spec** down) {
  return guarded([&] {
    need(gate_up, "gate_up");
    *gate_up = nullptr;
    need(down, "down");
    *down = nullptr;
    const heddle::Spec parsed = heddle::c_api::spec_of(heddle::Op::kMoe, spec, spec_length);
    heddle::refuse_if_any(parsed, heddle::check_meaning(parsed));
    const heddle::MoeGemms gemms = heddle::moe_gemms(parsed.moe());
    auto first = std::make_unique<heddle_spec>(heddle::Spec::from_gemm(gemms.gate_up));
    *down = new heddle_spec(heddle::Spec::from_gemm(gemms.down));
    *gate_up = first.release();
  });
}

heddle_status heddle_moe_parameters(const heddle_plan* plan, const heddle_moe_args* args,
                                    void* parameters, size_t capacity, size_t* bytes) {
  return guarded([&] {
    need(plan, "plan");
    const heddle::MoeArgs launch = heddle::c_api::to_cpp(args);
    heddle::c_api::need_op(plan->plan.spec.op(), heddle::MoeKernel::kOp);
    const std::size_t workspace = heddle::moe_workspace_bytes(plan->plan, launch.tokens);
    heddle::validate(plan->plan, workspace, launch);
    heddle::c_api::need_work(launch.tokens > 0);
    const heddle::MoeParameters made = heddle::moe_parameters(plan->plan.spec.moe(), launch);
    constexpr std::size_t kMoeEnd = offsetof(heddle::MoeParameters, tokens) + sizeof(int);
    heddle::c_api::give<kMoeEnd>(made, parameters, capacity, bytes);
  });
}
