#include "runtime/launch/moe_launch.h"

#include "experts/router.h"
#include "generator/families/experts/experts_family.h"
#include "generator/operations/launch_size.h"
#include "heddle/weights.h"
#include "runtime/launch/byte_pointers.h"
#include "runtime/launch/kernel_state.h"
#include "runtime/launch/launch_checks.h"
#include "runtime/launch/tensor_maps.h"

namespace heddle {

namespace {

// Bytes of the arguments of a launch.
struct MoeBytes {
  std::size_t rows;     // of x, y and the residual
  std::size_t choices;  // of ids and of weights
  std::size_t gate_up;
  std::size_t down;
  std::size_t gate_up_bias;
  std::size_t down_bias;
  std::size_t logits;
  std::size_t of_experts;  // of the model, a number for each
  std::size_t of_tokens;   // FP32 for each
  std::size_t permutation;
};

const device::ExpertLayer& layer_of(const PlannedKernel& kernel) {
  return dynamic_cast<const ExpertsFamily&>(*kernel.family).layer(kernel);
}

// Of a kernel's configuration, which is the same for all kernels of the plan in what counts here.
MoeBytes bytes_of_launch(const Plan& plan, std::int64_t tokens) {
  const MoeSpec& spec = plan.spec.moe();
  const device::ExpertLayer& layer = layer_of(plan.kernels.front());
  const std::int64_t experts = layer.experts();
  const std::int64_t element = bytes_of(spec.activation);
  const std::int64_t gate_up_rows = (spec.epilogue.gated ? 2 : 1) * spec.shape.intermediate;
  return {byte_count(tokens * spec.shape.hidden, element),
          byte_count(tokens * spec.shape.top_k, sizeof(std::int32_t)),
          byte_count(experts, layer.gate_up_bytes),
          byte_count(experts, layer.down_bytes),
          byte_count(experts * gate_up_rows, element),
          byte_count(experts * spec.shape.hidden, element),
          byte_count(tokens * spec.shape.experts, bytes_of(spec.router.logits)),
          byte_count(spec.shape.experts, sizeof(float)),
          byte_count(tokens, sizeof(float)),
          byte_count(experts * spec.shape.hidden, sizeof(std::int32_t))};
}

// Y may alias X or the residual exactly: both are consumed before the same elements of Y are
// stored. All else that is read or written has a place of its own.
void refuse_overlaps(const MoeBytes& bytes, std::size_t workspace_bytes, const MoeArgs& args) {
  const struct {
    const char* name;
    const DeviceInput& memory;
    std::size_t bytes;
    bool may_be_y;
  } inputs[] = {{"x", args.x, bytes.rows, true},
                {"residual", args.residual, bytes.rows, true},
                {"ids", args.ids, bytes.choices, false},
                {"weights", args.weights, bytes.choices, false},
                {"gate_up", args.gate_up, bytes.gate_up, false},
                {"down", args.down, bytes.down, false},
                {"gate_up_bias", args.gate_up_bias, bytes.gate_up_bias, false},
                {"down_bias", args.down_bias, bytes.down_bias, false},
                {"logits", args.logits, bytes.logits, false},
                {"correction_bias", args.correction_bias, bytes.of_experts, false},
                {"expert_scales", args.expert_scales, bytes.of_experts, false},
                {"shared_gates", args.shared_gates, bytes.of_tokens, false},
                {"permutation", args.permutation, bytes.permutation, false}};
  const struct {
    const char* name;
    MemoryRows memory;
  } outputs[] = {{"y", memory_bytes(args.y.data, bytes.rows)},
                 {"workspace", memory_bytes(args.workspace.data, workspace_bytes)},
                 {"chosen_ids", memory_bytes(args.chosen_ids.data, bytes.choices)},
                 {"chosen_weights", memory_bytes(args.chosen_weights.data, bytes.choices)}};
  for (const auto& output : outputs) {
    for (const auto* other = outputs; other != &output; ++other) {
      refuse_overlap(other->name, other->memory, output.name, output.memory);
    }
    for (const auto& input : inputs) {
      const MemoryRows memory = memory_bytes(input.memory.data, input.bytes);
      const bool is_y = &output == outputs && input.may_be_y && memory.data == output.memory.data;
      if (!is_y) refuse_overlap(input.name, memory, output.name, output.memory);
    }
  }
}

// What the choice of experts takes and gives.
void check_choice(const MoeSpec& spec, const MoeBytes& bytes, const MoeArgs& args) {
  const RouterSpec& router = spec.router;
  const bool chooses = router.chooses();
  check_wanted(args.ids, !chooses, bytes.choices, "ids", sizeof(std::int32_t));
  check_wanted(args.weights, !chooses, bytes.choices, "weights", sizeof(float));
  check_wanted(args.logits, chooses, bytes.logits, "logits", bytes_of(router.logits));
  check_wanted(args.correction_bias, router.correction_bias, bytes.of_experts, "correction_bias",
               sizeof(float));
  check_wanted(args.expert_scales, router.expert_scales, bytes.of_experts, "expert_scales",
               sizeof(float));
  check_wanted(args.shared_gates, spec.shared_gate, bytes.of_tokens, "shared_gates", sizeof(float));
  check_wanted(args.chosen_ids, chooses && args.chosen_ids.data != nullptr, bytes.choices,
               "chosen_ids", sizeof(std::int32_t));
  check_wanted(args.chosen_weights, chooses && args.chosen_weights.data != nullptr, bytes.choices,
               "chosen_weights", sizeof(float));
}

}  // namespace

void validate(const Plan& plan, std::size_t workspace_bytes, const MoeArgs& args) {
  const MoeSpec& spec = plan.spec.moe();
  if (args.tokens == 0) return;
  check_m(plan.spec.m_range(), args.tokens);
  const MoeBytes bytes = bytes_of_launch(plan, args.tokens);
  check_required(args.x, bytes.rows, "x");
  check_required(args.gate_up, bytes.gate_up, "gate_up");
  check_required(args.down, bytes.down, "down");
  check_choice(spec, bytes, args);
  check_required(args.y, bytes.rows, "y");
  const bool bias = spec.epilogue.bias;
  check_wanted(args.gate_up_bias, bias, bytes.gate_up_bias, "gate_up_bias");
  check_wanted(args.down_bias, bias, bytes.down_bias, "down_bias");
  check_wanted(args.permutation, spec.act_order, bytes.permutation, "permutation");
  check_wanted(args.residual, spec.epilogue.residual, bytes.rows, "residual");
  check_workspace(args.workspace, workspace_bytes);
  refuse_overlaps(bytes, workspace_bytes, args);
}

MoeParameters moe_parameters(const MoeSpec& spec, const MoeArgs& args) noexcept {
  const bool chooses = spec.router.chooses();
  // What the caller does not want to have is in the workspace.
  const auto chosen = [&](const DeviceOutput& memory, std::int64_t offset) -> DeviceOutput {
    if (!chooses || memory.data != nullptr) return memory;
    return {bytes(args.workspace) + offset, 0};
  };
  const DeviceOutput ids = chosen(args.chosen_ids, device::RouterConfig::ids_offset());
  const DeviceOutput weights = chosen(
      args.chosen_weights, device::RouterConfig::weights_offset(args.tokens * spec.shape.top_k));
  return {bytes(args.x),
          bytes(args.gate_up),
          bytes(args.down),
          bytes(args.gate_up_bias),
          bytes(args.down_bias),
          chooses ? integers(ids) : integers(args.ids),
          chooses ? floats(weights) : floats(args.weights),
          bytes(args.residual),
          bytes(args.y),
          bytes(args.workspace),
          bytes(args.logits),
          floats(args.correction_bias),
          floats(args.expert_scales),
          floats(args.shared_gates),
          integers(args.permutation),
          integers(ids),
          floats(weights),
          static_cast<int>(args.tokens)};
}

std::size_t moe_workspace_bytes(const Plan& plan, std::int64_t tokens) {
  if (tokens == 0) return 0;
  check_m(plan.spec.m_range(), tokens);
  return plan.workspace_bytes(tokens);
}

std::size_t moe_workspace_bytes(const Kernel::State& state, std::int64_t tokens) {
  if (tokens == 0) return 0;
  check_m(state.plan.spec.m_range(), tokens);
  return state.workspace_bytes(tokens);
}

MoeRows moe_rows(const PlannedKernel& kernel, std::int64_t tokens, int schedule) {
  const device::ExpertLayer& layer = layer_of(kernel);
  const bool is_down = schedule == static_cast<int>(device::MoePhase::kDown);
  return {is_down ? layer.middle_offset(tokens) : layer.gathered_offset(tokens),
          layer.most_rows(tokens), is_down ? layer.intermediate : layer.hidden};
}

namespace {

// What the phase's product reads by boxes; another phase takes any map.
cuda::CUtensorMap* rows_map(const cuda::Driver& driver, const Plan& plan,
                            const PlannedKernel& kernel, const MoeArgs& args, int schedule) {
  const MoeRows rows = moe_rows(kernel, args.tokens, schedule);
  return token_map(driver, {bytes(args.workspace) + rows.offset, rows.rows, rows.columns,
                            kernel.box_tokens, plan.spec.moe().activation == DType::kBf16});
}

}  // namespace

void launch(const Kernel::State& state, const MoeArgs& args, Stream stream) {
  const Plan& plan = state.plan;
  if (args.tokens == 0) return;
  validate(plan, moe_workspace_bytes(state, args.tokens), args);
  const MoeParameters parameters = moe_parameters(plan.spec.moe(), args);
  ArgumentList arguments;
  arguments.set(KernelArgument::kParameters, &parameters);
  const std::size_t index = plan.kernel_for(args.tokens);
  const PlannedKernel& kernel = plan.kernels[index];
  for (int phase = 0; phase < kernel.phases; ++phase) {
    LaunchSize size{args.tokens};
    size.phase = phase;
    const KernelLaunch one = plan.launch(index, size);
    if (kernel.takes(KernelArgument::kTokenMap)) {
      arguments.set(KernelArgument::kTokenMap,
                    rows_map(state.kernels[index]->driver(), plan, kernel, args, one.schedule));
    }
    state.launch_as(one, index, arguments, stream);
  }
}

std::size_t MoeKernel::workspace_bytes(std::int64_t tokens) const {
  return moe_workspace_bytes(kernel().state(), tokens);
}

}  // namespace heddle
