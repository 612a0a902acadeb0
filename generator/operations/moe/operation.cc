// moe as an Operation.
#include "generator/operations/operation.h"

#include <fmt/format.h>

#include <string>

#include "experts/parameters.h"
#include "generator/operations/moe/moe.h"
#include "generator/spec/words.h"

namespace heddle {
namespace {

std::string describe_router(const RouterSpec& router) {
  std::string text = fmt::format(", chosen by {} of {} logits", to_string(router.scores),
                                 to_string(router.logits));
  if (router.correction_bias) text += " plus a bias";
  if (router.groups > 1) {
    text += fmt::format(", of {} of {} groups by {}", router.top_groups, router.groups,
                        to_string(router.group_score));
  }
  if (router.renormalize) text += ", renormalized";
  if (router.expert_scales) text += ", times each expert's scale";
  if (router.scaling_factor != 1) text += fmt::format(", times {}", router.scaling_factor);
  return text;
}

std::string describe_shared(const MoeSpec& spec) {
  if (spec.shape.shared_experts == 0) return {};
  return fmt::format(" and {} shared{}", spec.shape.shared_experts,
                     spec.shared_gate ? " by a gate" : "");
}

std::string describe_moe(const MoeSpec& spec) {
  const MoeShape& shape = spec.shape;
  const bool weighs_input = spec.routing_weight == RoutingWeight::kInput;
  std::string inner =
      fmt::format("{}[{}, {}]({}X)", spec.epilogue.gated ? "gates and ups" : "up",
                  gate_up_gemm(spec).shape.n, shape.hidden, weighs_input ? "weight * " : "");
  if (spec.epilogue.activation != Activation::kNone) {
    inner = fmt::format("{}({})", to_string(spec.epilogue.activation), inner);
  }
  std::string text =
      fmt::format("Y[T, {}] = sum over a token's {} of {} experts{} of {}down[{}, {}]({})",
                  shape.hidden, shape.top_k, shape.experts, describe_shared(spec),
                  weighs_input ? "" : "weight * ", shape.hidden, shape.intermediate, inner);
  if (spec.epilogue.residual) text += " + residual";
  if (spec.act_order) text += ", columns of X in each expert's order";
  if (spec.router.chooses()) text += describe_router(spec.router);
  if (spec.local_experts() != shape.experts) {
    text += fmt::format(", experts {} to {}", shape.first_expert,
                        shape.first_expert + spec.local_experts() - 1);
  }
  return text + fmt::format(", in {}", to_string(spec.activation));
}

class Moe final : public OperationOn<MoeSpec> {
 public:
  const FieldTable& fields() const override { return moe_fields(); }
  void settle(void* fields) const override {
    MoeSpec& moe = of(fields);
    if (moe.shape.first_expert + moe.shape.local_experts == moe.shape.experts) {
      moe.shape.local_experts = 0;
    }
    if (moe.router.groups == 1 && moe.router.top_groups <= 1) moe.router.top_groups = 0;
  }
  void generalise(void* fields) const override {
    of(fields).shape.tokens_min = 1;
    of(fields).shape.tokens_max = kDefaultMaxTokens;
  }
  std::vector<Problem> problems(const void* fields) const override {
    return check_meaning(of(fields));
  }
  OutputUse output(const void* fields) const override {
    return {to_string(of(fields).activation), to_string(of(fields).activation),
            of(fields).shape.hidden};
  }
  SizeKind size_kind() const noexcept override { return SizeKind::kRows; }
  MRange sizes(const void* fields) const override {
    return {of(fields).shape.tokens_min, of(fields).shape.tokens_max};
  }
  void set_sizes(void* fields, const MRange& m) const override {
    of(fields).shape.tokens_min = m.min;
    of(fields).shape.tokens_max = m.max;
  }
  bool is_batch_invariant(const void* fields) const override { return of(fields).batch_invariant; }
  std::string_view size_name() const noexcept override { return "tokens"; }
  std::string_view size_pointer() const noexcept override { return "/shape/tokens"; }
  std::size_t parameter_bytes() const noexcept override { return sizeof(device::MoeParameters); }
  std::string describe(const void* fields) const override { return describe_moe(of(fields)); }
};

}  // namespace

const Operation& moe_operation() {
  static const Moe operation;
  return operation;
}

}  // namespace heddle
