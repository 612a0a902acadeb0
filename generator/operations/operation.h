// Operation: what a spec may ask for. Parser, planner, runtime, C and Python ask the interface what
// all operations have; only what is an operation's own (its families, its launch) knows its struct.
#ifndef HEDDLE_GENERATOR_OPERATIONS_OPERATION_H_
#define HEDDLE_GENERATOR_OPERATIONS_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "generator/operations/kernel_argument.h"
#include "generator/spec/fields.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

// The weights W of an operation.
struct WeightUse {
  MatrixShape shape;
  const WeightSpec* weight = nullptr;
  bool gated = false;      // packed weights have the row order of a gated epilogue
  bool act_order = false;  // packed columns are in another order than those of X
  bool reads_packed = false;
  bool writes_packed = false;
  std::string_view act_order_field = "";  // of act_order in the spec
};

// The key-value cache of an operation.
struct CacheUse {
  KvShape shape;
  const KvSpec* kv = nullptr;
};

// The matrix that an operation writes.
struct OutputUse {
  std::string_view dtype = "";     // empty: packed codes
  std::string_view multiply = "";  // the type that matrix instructions take; empty: there are none
  std::int64_t columns = 0;        // 0: the operation has no rows
};

// What the sizes of an operation's kernels count.
enum class SizeKind {
  kNone,            // one kernel serves every launch
  kRows,            // M, of the range that the spec names
  kSequenceTokens,  // the longest sequence that a launch may have
};

// Stateless; any thread may call any function. `fields`: a struct of the operation.
class Operation {
 public:
  virtual ~Operation() = default;

  virtual const FieldTable& fields() const = 0;
  // The type of the struct.
  virtual const std::type_info& type() const noexcept = 0;
  // A struct with the defaults, and a copy of one.
  virtual std::shared_ptr<void> make() const = 0;
  virtual std::shared_ptr<void> copy(const void* fields) const = 0;
  // Fills in what the spec leaves open, so that specs that mean the same are the same. Idempotent.
  virtual void settle(void* /*fields*/) const {}
  // Takes out what only says how it is computed, and for which sizes.
  virtual void generalise(void* /*fields*/) const {}
  // Everything that makes the spec senseless or not servable on any target, each with its pointer
  // and the reason. What depends on the target or on which kernels exist is the planner's.
  // Precondition: every value is inside its field's range, and the struct is settled.
  virtual std::vector<Problem> problems(const void* fields) const = 0;

  virtual std::optional<WeightUse> weight(const void* /*fields*/) const { return std::nullopt; }
  virtual std::optional<CacheUse> cache(const void* /*fields*/) const { return std::nullopt; }
  virtual OutputUse output(const void* /*fields*/) const { return {}; }
  virtual SizeKind size_kind() const noexcept { return SizeKind::kNone; }
  // The sizes that kernels are made for; of kRows those that the spec names.
  virtual MRange sizes(const void* /*fields*/) const { return {1, 1}; }
  // Has the spec name these sizes, where it names any.
  virtual void set_sizes(void* /*fields*/, const MRange& /*sizes*/) const {}
  // The launches that kernels for these sizes are chosen by, one at least: by how long all of them
  // take together. The largest size alone where an operation does not say more.
  virtual std::vector<LaunchSize> usual_launches(const MRange& sizes) const;
  // For people: what sizes count, "M 1 to 16", and what usual_launches() of these are, "at M = 16".
  virtual std::string_view size_name() const noexcept { return "M"; }
  // Of kRows: the field that names the sizes.
  virtual std::string_view size_pointer() const noexcept { return "/shape/m"; }
  std::string size_text(const MRange& sizes) const;
  virtual std::string launches_text(const MRange& sizes) const;
  // Whether sizes share a kernel that is nearly as fast as the best of each, so that fewer are
  // compiled.
  virtual bool saves_kernels() const noexcept { return true; }
  // Whether a token's outputs must not depend on the launch's other tokens, nor on their number.
  virtual bool is_batch_invariant(const void* /*fields*/) const { return false; }
  // The path that the spec asks for.
  virtual Path path(const void* /*fields*/) const { return Path::kAuto; }
  virtual void set_path(void* /*fields*/, Path /*path*/) const {}

  // Throws Error(kUsage) unless a launch may have the size.
  virtual void check_size(const void* fields, const LaunchSize& size) const;
  // Bytes of KernelArgument::kParameters; 0 where no kernel takes it.
  virtual std::size_t parameter_bytes() const noexcept { return 0; }

  // What is computed, for people: formulas, shapes, types. No line feed at its end.
  virtual std::string describe(const void* fields) const = 0;
};

// Every operation, in the order of Op.
std::span<const Operation* const> every_operation();
// Throws Error(kUsage) for what is none.
const Operation& operation_of(Op op);
inline const Operation& operation_of(const Spec& spec) { return operation_of(spec.op()); }
// Operation::sizes() of the spec.
MRange sizes_of(const Spec& spec);
// The spec with other sizes, where it names any, and with another path.
Spec with_sizes(const Spec& spec, const MRange& sizes);
Spec with_path(const Spec& spec, Path path);
// Operation::problems() of the spec.
std::vector<Problem> check_meaning(const Spec& spec);

// An operation whose fields are in a struct of this type; it says of typed structs what Operation
// says.
template <class Fields>
class OperationOn : public Operation {
 public:
  const std::type_info& type() const noexcept override { return typeid(Fields); }
  std::shared_ptr<void> make() const override { return std::make_shared<Fields>(); }
  std::shared_ptr<void> copy(const void* fields) const override {
    return std::make_shared<Fields>(of(fields));
  }

 protected:
  static const Fields& of(const void* fields) { return *static_cast<const Fields*>(fields); }
  static Fields& of(void* fields) { return *static_cast<Fields*>(fields); }
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_OPERATION_H_
