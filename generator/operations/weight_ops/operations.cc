// dequantize, repack and quantize_weight as Operations.
#include <fmt/format.h>

#include "generator/operations/operation.h"
#include "generator/operations/weight_ops/weight_ops.h"
#include "generator/spec/byte_meaning.h"
#include "generator/spec/weight_meaning.h"

namespace heddle {
namespace {

bool is_packed(const WeightOpSpec& spec) { return spec.format == CheckpointFormat::kHeddle; }

class WeightOperation : public OperationOn<WeightOpSpec> {
 public:
  std::optional<WeightUse> weight(const void* fields) const override {
    const WeightOpSpec& spec = of(fields);
    WeightUse use;
    use.shape = spec.shape;
    use.weight = &spec.weight;
    use.gated = spec.gated;
    use.act_order = spec.act_order;
    use.act_order_field = "/source/act_order";
    return use;
  }

 protected:
  // What all three refuse. One that `reads_codes` has those of a checkpoint.
  static Problems common_problems(const WeightOpSpec& spec, bool reads_codes) {
    Problems problems;
    check_sides(spec.shape, problems);
    check_is_quantised(spec.weight, problems);
    check_order_of_op(reads_codes, spec, problems);
    check_weight(spec.shape, spec.weight, problems);
    return problems;
  }
};

class Dequantize final : public WeightOperation {
 public:
  const FieldTable& fields() const override { return dequantize_fields(); }
  std::vector<Problem> problems(const void* fields) const override {
    const WeightOpSpec& spec = of(fields);
    Problems problems = common_problems(spec, !is_packed(spec));
    if (!is_packed(spec)) check_checkpoint(spec, problems);
    if (spec.gated) check_gated(spec.shape.n, problems);
    if (spec.gated && !is_packed(spec)) {
      problems.push_back({"/epilogue/gated", "only packed weights have that order of rows", "true",
                          "false, or source.format \"heddle\"", ""});
    }
    return problems;
  }
  std::optional<WeightUse> weight(const void* fields) const override {
    std::optional<WeightUse> use = WeightOperation::weight(fields);
    use->reads_packed = is_packed(of(fields));
    return use;
  }
  OutputUse output(const void* fields) const override {
    return {to_string(of(fields).dtype), "", 0};
  }
  std::string describe(const void* fields) const override {
    const WeightOpSpec& spec = of(fields);
    return fmt::format("W[{}, {}] in {} from {}", spec.shape.n, spec.shape.k, to_string(spec.dtype),
                       to_string(spec.format));
  }
};

class Repack final : public WeightOperation {
 public:
  const FieldTable& fields() const override { return repack_fields(); }
  std::vector<Problem> problems(const void* fields) const override {
    const WeightOpSpec& spec = of(fields);
    Problems problems = common_problems(spec, true);
    if (is_packed(spec)) {
      problems.push_back({"/source/format", "packed weights need no repacking", "\"heddle\"",
                          "\"awq\", \"gptq\" or \"gptq_v2\"", ""});
    } else {
      check_checkpoint(spec, problems);
    }
    if (spec.gated) check_gated(spec.shape.n, problems);
    return problems;
  }
  std::optional<WeightUse> weight(const void* fields) const override {
    std::optional<WeightUse> use = WeightOperation::weight(fields);
    use->writes_packed = true;
    return use;
  }
  std::string describe(const void* fields) const override {
    const WeightOpSpec& spec = of(fields);
    return fmt::format("packed W[{}, {}] from {}", spec.shape.n, spec.shape.k,
                       to_string(spec.format));
  }
};

class QuantizeWeight final : public WeightOperation {
 public:
  const FieldTable& fields() const override { return quantize_weight_fields(); }
  std::vector<Problem> problems(const void* fields) const override {
    const WeightOpSpec& spec = of(fields);
    Problems problems = common_problems(spec, false);
    if (spec.gated) check_gated(spec.shape.n, problems);
    check_quantized_groups(spec.weight, problems);
    return problems;
  }
  std::optional<WeightUse> weight(const void* fields) const override {
    std::optional<WeightUse> use = WeightOperation::weight(fields);
    use->writes_packed = true;
    return use;
  }
  std::string describe(const void* fields) const override {
    const WeightOpSpec& spec = of(fields);
    return fmt::format("packed W[{}, {}] from {}", spec.shape.n, spec.shape.k,
                       to_string(spec.dtype));
  }
};

}  // namespace

std::vector<Problem> check_meaning(Op op, const WeightOpSpec& spec) {
  return operation_of(op).problems(&spec);
}

const Operation& dequantize_operation() {
  static const Dequantize operation;
  return operation;
}

const Operation& repack_operation() {
  static const Repack operation;
  return operation;
}

const Operation& quantize_weight_operation() {
  static const QuantizeWeight operation;
  return operation;
}

}  // namespace heddle
