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
                 nb::handle down_bias, nb::handle residual, nb::handle workspace, Number tokens) {
  const MoeSpec& spec = kernel.plan().spec.moe();
  const MoeGemms gemms = moe_gemms(spec);
  const std::int64_t experts = spec.local_experts();
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
  args.ids =
      arguments.dense(ids, {"ids", Element::kInt32, choices, true, false, sizeof(std::int32_t)});
  args.weights =
      arguments.dense(weights, {"weights", Element::kFp32, choices, true, false, sizeof(float)});
  args.y = arguments.dense(y, {"y", in, rows, true, true});
  args.gate_up_bias =
      arguments.dense(gate_up_bias, {"gate_up_bias", in, {experts, gemms.gate_up.shape.n}, bias});
  args.down_bias =
      arguments.dense(down_bias, {"down_bias", in, {experts, gemms.down.shape.n}, bias});
  args.residual = arguments.dense(residual, {"residual", in, rows, spec.epilogue.residual});
  args.workspace = arguments.memory(workspace, "workspace", Element::kAny, true);
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
      "x: object, gate_up: object, down: object, ids: object, weights: object, y: object, "
      "gate_up_bias: object = None, down_bias: object = None, residual: object = None, workspace: "
      "object = None, tokens: int | None = None",
      "Checks the arguments of a launch. Every array is dense and aligned to 16 bytes, ids and "
      "weights to 4.\n\n"
      "x: [tokens, hidden] of activation.dtype. gate_up, down: [local experts, bytes] uint8, of "
      "each what pack_weights() makes for the gemm that moe_gemms() tells. ids: [tokens, top_k] "
      "int32, experts of the model; one that this device does not have adds nothing. weights: "
      "[tokens, top_k] float32, of the router. y: as x; it may be x or residual. gate_up_bias: "
      "[local experts, N of gate_up] of activation.dtype; down_bias: [local experts, hidden]. "
      "residual: as x. workspace: zeroed memory of workspace_bytes(tokens). tokens: only where x "
      "is a DeviceMemory.",
      nb::arg("x").none(), nb::arg("gate_up").none(), nb::arg("down").none(), nb::arg("ids").none(),
      nb::arg("weights").none(), nb::arg("y").none(), nb::arg("gate_up_bias") = nb::none(),
      nb::arg("down_bias") = nb::none(), nb::arg("residual") = nb::none(),
      nb::arg("workspace") = nb::none(), nb::arg("tokens") = nb::none());
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
