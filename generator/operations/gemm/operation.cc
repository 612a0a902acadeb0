// gemm as an Operation.
#include "generator/operations/operation.h"

#include "generator/operations/gemm/gemm.h"
#include "generator/spec/byte_meaning.h"

namespace heddle {
namespace {

class Gemm final : public OperationOn<GemmSpec> {
 public:
  const FieldTable& fields() const override { return gemm_fields(); }
  void settle(void* fields) const override {
    GemmSpec& gemm = of(fields);
    gemm.weight.interleave = settled_interleave(gemm);
    // With X of eight bits Y always has a type of its own, if only by name.
    if (!gemm.has_byte_activations() && gemm.output == gemm.activation) gemm.output.reset();
    if (gemm.multiply == gemm.activation) gemm.multiply.reset();
  }
  void generalise(void* fields) const override {
    GemmSpec& gemm = of(fields);
    gemm.shape.m_min = 1;
    gemm.shape.m_max = kDefaultMaxM;
    gemm.tile = {};
    gemm.path = Path::kAuto;
  }
  std::vector<Problem> problems(const void* fields) const override {
    return check_meaning(of(fields));
  }
  std::optional<WeightUse> weight(const void* fields) const override {
    const GemmSpec& gemm = of(fields);
    WeightUse use;
    use.shape = {gemm.shape.n, gemm.shape.k};
    use.weight = &gemm.weight;
    use.gated = gemm.epilogue.gated;
    use.act_order = gemm.act_order;
    use.act_order_field = "/activation/act_order";
    use.reads_packed = true;
    return use;
  }
  OutputUse output(const void* fields) const override {
    const GemmSpec& gemm = of(fields);
    return {to_string(gemm.output_dtype()), to_string(gemm.multiply_dtype()),
            gemm.output_columns()};
  }
  SizeKind size_kind() const noexcept override { return SizeKind::kRows; }
  MRange sizes(const void* fields) const override {
    return {of(fields).shape.m_min, of(fields).shape.m_max};
  }
  void set_sizes(void* fields, const MRange& m) const override {
    of(fields).shape.m_min = m.min;
    of(fields).shape.m_max = m.max;
  }
  bool is_batch_invariant(const void* fields) const override { return of(fields).batch_invariant; }
  Path path(const void* fields) const override { return of(fields).path; }
  void set_path(void* fields, Path path) const override { of(fields).path = path; }
  std::string describe(const void* fields) const override { return heddle::describe(of(fields)); }
};

}  // namespace

const Operation& gemm_operation() {
  static const Gemm operation;
  return operation;
}

}  // namespace heddle
