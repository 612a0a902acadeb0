#include <nanobind/stl/pair.h>

#include <cstdint>
#include <utility>

#include "bindings.h"
#include "heddle/operations.h"
#include "heddle/weights.h"
#include "kernels.h"
#include "spec_argument.h"

namespace heddle::python {
namespace {

std::int64_t packed_bytes(const GemmSpec& gemm) {
  return static_cast<std::int64_t>(weight_layout(gemm).total_bytes);
}

Launch check_moe(const MoeKernel& kernel, nb::handle x, nb::handle gate_up, nb::handle down,
                 nb::handle ids, nb::handle weights, nb::handle y, nb::handle gate_up_bias,
                 nb::handle down_bias, nb::handle residual, nb::handle workspace, Number tokens,
                 nb::handle logits, nb::handle correction_bias, nb::handle expert_scales,
                 nb::handle chosen_ids, nb::handle chosen_weights, nb::handle shared_gates,
                 nb::handle permutation) {
  const MoeSpec& spec = kernel.plan().spec.moe();
  const MoeGemms gemms = moe_gemms(spec);
  const std::int64_t experts = spec.device_experts();
  const Element in = element_of(spec.activation);
  const bool bias = spec.epilogue.bias;
  Arguments arguments(kernel.kernel());
  MoeArgs args;
  args.tokens = arguments.size_of(x, "x", tokens, "tokens");
  const std::vector<std::int64_t> rows = {args.tokens, spec.shape.hidden};
  const std::vector<std::int64_t> choices = {args.tokens, spec.shape.top_k};
  args.x = arguments.dense(x, {"x", in, rows});
  args.gate_up =
      arguments.dense(gate_up, {"gate_up", Element::kByte, {experts, packed_bytes(gemms.gate_up)}});
  args.down = arguments.dense(down, {"down", Element::kByte, {experts, packed_bytes(gemms.down)}});
  const bool chooses = spec.router.chooses();
  args.ids = arguments.dense(
      ids, {"ids", Element::kInt32, choices, !chooses, false, sizeof(std::int32_t)});
  args.weights = arguments.dense(
      weights, {"weights", Element::kFp32, choices, !chooses, false, sizeof(float)});
  args.y = arguments.dense(y, {"y", in, rows, true, true});
  args.gate_up_bias =
      arguments.dense(gate_up_bias, {"gate_up_bias", in, {experts, gemms.gate_up.shape.n}, bias});
  args.down_bias =
      arguments.dense(down_bias, {"down_bias", in, {experts, gemms.down.shape.n}, bias});
  args.residual = arguments.dense(residual, {"residual", in, rows, spec.epilogue.residual});
  args.workspace = arguments.memory(workspace, "workspace", Element::kAny, true);
  const auto of_experts = [&](nb::handle value, const char* name, bool wanted) {
    return arguments.dense(
        value, {name, Element::kFp32, {spec.shape.experts}, wanted, false, sizeof(float)});
  };
  // Only where it is wanted; refused of a spec without logits.
  const auto chosen = [&](nb::handle value, const char* name, Element element) {
    return arguments.dense(
        value, {name, element, choices, chooses && !value.is_none(), true, sizeof(float)});
  };
  args.logits = arguments.dense(logits, {"logits",
                                         element_of(spec.router.logits),
                                         {args.tokens, spec.shape.experts},
                                         chooses,
                                         false,
                                         static_cast<std::size_t>(bytes_of(spec.router.logits))});
  args.correction_bias =
      of_experts(correction_bias, "correction_bias", spec.router.correction_bias);
  args.expert_scales = of_experts(expert_scales, "expert_scales", spec.router.expert_scales);
  args.shared_gates = arguments.dense(
      shared_gates,
      {"shared_gates", Element::kFp32, {args.tokens}, spec.shared_gate, false, sizeof(float)});
  args.permutation = arguments.dense(
      permutation, {"permutation", Element::kInt32, {experts, spec.shape.hidden}, spec.act_order});
  args.chosen_ids = chosen(chosen_ids, "chosen_ids", Element::kInt32);
  args.chosen_weights = chosen(chosen_weights, "chosen_weights", Element::kFp32);
  return make_launch(kernel, args, &arguments);
}

}  // namespace

void bind_moe(nb::module_& m) {
  auto type = bind_handle<MoeKernel>(
      m, "MoeKernel", "A layer of experts: Y[t] = sum of weight * expert(X[t]) over those of t.");
  type.def("workspace_bytes", &MoeKernel::workspace_bytes, nb::arg("tokens"),
           "Bytes that a launch with so many tokens needs. Raises UsageError outside of "
           "shape.tokens.");
  add_launches(
      type, &check_moe,
      "x: object, gate_up: object, down: object, ids: object = None, weights: object = None, y: "
      "object, gate_up_bias: object = None, down_bias: object = None, residual: object = None, "
      "workspace: object = None, tokens: int | None = None, logits: object = None, "
      "correction_bias: object = None, expert_scales: object = None, chosen_ids: object = None, "
      "chosen_weights: object = None, shared_gates: object = None, "
      "permutation: object = None",
      "Checks the arguments of a launch. Every array is dense and aligned to 16 bytes, but ids, "
      "weights, logits and what has a number for each expert or token to one element.\n\n"
      "x: [tokens, hidden] of activation.dtype. gate_up, down: [experts, bytes] uint8, of each "
      "local expert and then of each shared one what pack_weights() makes for the gemm that "
      "moe_gemms() tells. ids: [tokens, top_k] "
      "int32, experts of the model; one that this device does not have adds nothing. weights: "
      "[tokens, top_k] float32, of the router. y: as x; it may be x or residual. gate_up_bias: "
      "[experts, N of gate_up] of activation.dtype; down_bias: [experts, hidden]. "
      "residual: as x. workspace: zeroed memory of workspace_bytes(tokens). tokens: only where x "
      "is a DeviceMemory. shared_gates: [tokens] float32, with routing.shared_gate. "
      "permutation: [experts, hidden] int32, with activation.act_order.\n\n"
      "With routing.scores in place of ids and weights logits: [tokens, experts] of "
      "routing.logits_dtype; correction_bias, expert_scales: [experts] float32, as the spec says. "
      "chosen_ids, chosen_weights: arrays for what became of ids and weights, if wanted.",
      nb::arg("x").none(), nb::arg("gate_up").none(), nb::arg("down").none(),
      nb::arg("ids") = nb::none(), nb::arg("weights") = nb::none(), nb::arg("y").none(),
      nb::arg("gate_up_bias") = nb::none(), nb::arg("down_bias") = nb::none(),
      nb::arg("residual") = nb::none(), nb::arg("workspace") = nb::none(),
      nb::arg("tokens") = nb::none(), nb::arg("logits") = nb::none(),
      nb::arg("correction_bias") = nb::none(), nb::arg("expert_scales") = nb::none(),
      nb::arg("chosen_ids") = nb::none(), nb::arg("chosen_weights") = nb::none(),
      nb::arg("shared_gates") = nb::none(), nb::arg("permutation") = nb::none());
  m.def(
      "moe_gemms",
      [](nb::handle spec) {
        const MoeGemms gemms = moe_gemms(spec_argument(spec).moe());
        return std::pair(Spec::from_gemm(gemms.gate_up), Spec::from_gemm(gemms.down));
      },
      nb::arg("spec"),
      nb::sig("def moe_gemms(spec: Spec | dict[str, typing.Any] | str) -> tuple[Spec, Spec]"),
      "gate_up and down: the gemms as whose weights those of each expert of a moe are packed.");
}

}  // namespace heddle::python
