#include <cstdint>
#include <string>

#include "bindings.h"
#include "heddle/error.h"
#include "heddle/operations.h"
#include "heddle/weights.h"
#include "kernels.h"

namespace heddle::python {
namespace {

constexpr int kWordBits = 32;

std::int64_t total_bytes(const Plan& plan) {
  return static_cast<std::int64_t>(plan.layout.total_bytes);
}

// Packed weights, or the tensors of an AWQ or GPTQ checkpoint.
WeightSource source_of(const Plan& plan, Arguments* arguments, nb::handle weights,
                       nb::handle scales, nb::handle zeros, nb::handle group_index,
                       nb::handle permutation) {
  const WeightOpSpec& spec = plan.spec.weight_op();
  const auto [n, k] = std::pair(spec.shape.n, spec.shape.k);
  const bool packed = spec.format == CheckpointFormat::kHeddle;
  const bool awq = spec.format == CheckpointFormat::kAwq;
  const bool by_group = spec.act_order && !packed && plan.spec.op() == DequantizeKernel::kOp;
  const std::int64_t groups = groups_along_k(spec.weight, spec.shape.k);
  const int bits = spec.weight.bits;
  WeightSource source;
  if (packed) {
    source.weights = arguments->dense(weights, {"weights", Element::kByte, {total_bytes(plan)}});
  } else if (awq) {
    source.weights =
        arguments->dense(weights, {"weights", Element::kInt32, {k, n * bits / kWordBits}});
  } else {
    source.weights =
        arguments->dense(weights, {"weights", Element::kInt32, {k * bits / kWordBits, n}});
  }
  source.scales = arguments->dense(
      scales, {"scales", element_of(spec.weight.scale_dtype), {groups, n}, !packed});
  source.zeros = arguments->dense(zeros, {"zeros",
                                          Element::kInt32,
                                          {groups, n * bits / kWordBits},
                                          !packed && spec.weight.zero_point == ZeroPoint::kInt});
  source.group_index =
      arguments->dense(group_index, {"group_index", Element::kInt32, {k}, by_group});
  source.permutation = arguments->dense(
      permutation, {"permutation", Element::kInt32, {k}, spec.act_order && !by_group});
  return source;
}

Launch check_dequantize(const DequantizeKernel& kernel, nb::handle weights, nb::handle w,
                        nb::handle scales, nb::handle zeros, nb::handle group_index,
                        nb::handle permutation) {
  const WeightOpSpec& spec = kernel.plan().spec.weight_op();
  Arguments arguments(kernel.kernel());
  DequantizeArgs args;
  args.source =
      source_of(kernel.plan(), &arguments, weights, scales, zeros, group_index, permutation);
  args.w =
      arguments.dense(w, {"w", element_of(spec.dtype), {spec.shape.n, spec.shape.k}, true, true});
  return make_launch(kernel, args, &arguments);
}

Launch check_repack(const RepackKernel& kernel, nb::handle weights, nb::handle packed,
                    nb::handle scales, nb::handle zeros, nb::handle permutation) {
  Arguments arguments(kernel.kernel());
  RepackArgs args;
  args.source =
      source_of(kernel.plan(), &arguments, weights, scales, zeros, nb::none(), permutation);
  args.packed =
      arguments.dense(packed, {"packed", Element::kByte, {total_bytes(kernel.plan())}, true, true});
  return make_launch(kernel, args, &arguments);
}

Launch check_quantize(const QuantizeWeightKernel& kernel, nb::handle w, nb::handle packed) {
  const WeightOpSpec& spec = kernel.plan().spec.weight_op();
  Arguments arguments(kernel.kernel());
  QuantizeWeightArgs args;
  args.w = arguments.dense(w, {"w", element_of(spec.dtype), {spec.shape.n, spec.shape.k}});
  args.packed =
      arguments.dense(packed, {"packed", Element::kByte, {total_bytes(kernel.plan())}, true, true});
  return make_launch(kernel, args, &arguments);
}

constexpr const char* kChecks =
    "Checks the arguments of a launch. Every array is dense and aligned to 16 bytes.\n\n";
// The tensors of a checkpoint, after what the operation says of `weights`.
constexpr const char* kCheckpoint =
    "a checkpoint's qweight, int32: AWQ [K, N * bits / 32], GPTQ [K * bits / 32, N], with scales: "
    "[G, N] of the weight's scale_dtype, and zeros: its qzeros, [G, N * bits / 32] int32. ";
constexpr const char* kPackedDoc = "packed: [bytes] uint8, in Heddle's layout.";

std::string dequantize_doc() {
  return std::string(kChecks) + "weights: packed weights, [bytes] uint8, or " + kCheckpoint +
         "With act_order group_index: [K] int32, of GPTQ, or permutation: [K] int32, of packed "
         "weights. w: [N, K] of the spec's output.dtype.";
}
std::string repack_doc() {
  return std::string(kChecks) + "weights: " + kCheckpoint +
         "permutation: [K] int32, with act_order. " + kPackedDoc;
}
std::string quantize_doc() {
  return std::string(kChecks) + "w: [N, K] of the spec's input.dtype. " + kPackedDoc;
}

}  // namespace

void bind_weight_kernels(nb::module_& m) {
  auto dequantize = bind_handle<DequantizeKernel>(
      m, "DequantizeKernel", "Packed weights, or a checkpoint's, to 16-bit floats.");
  add_launches(dequantize, &check_dequantize,
               "weights: object, w: object, scales: object = None, zeros: object = None, "
               "group_index: object = None, permutation: object = None",
               dequantize_doc().c_str(), nb::arg("weights").none(), nb::arg("w").none(),
               nb::arg("scales") = nb::none(), nb::arg("zeros") = nb::none(),
               nb::arg("group_index") = nb::none(), nb::arg("permutation") = nb::none());
  auto repack =
      bind_handle<RepackKernel>(m, "RepackKernel", "A checkpoint's weights to packed weights.");
  add_launches(repack, &check_repack,
               "weights: object, packed: object, scales: object = None, zeros: object = None, "
               "permutation: object = None",
               repack_doc().c_str(), nb::arg("weights").none(), nb::arg("packed").none(),
               nb::arg("scales") = nb::none(), nb::arg("zeros") = nb::none(),
               nb::arg("permutation") = nb::none());
  auto quantize = bind_handle<QuantizeWeightKernel>(m, "QuantizeWeightKernel",
                                                    "16-bit floats to packed weights.");
  add_launches(quantize, &check_quantize, "w: object, packed: object", quantize_doc().c_str(),
               nb::arg("w").none(), nb::arg("packed").none());
}

}  // namespace heddle::python
