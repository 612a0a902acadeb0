// The operations of the list.
#include <cstddef>

#include "generator/operations/operation.h"
#include "generator/spec/operation_list.h"

namespace heddle {

#define HEDDLE_DECLARE_OPERATION(name) const Operation& name##_operation();
#define HEDDLE_ADDRESS_OF_OPERATION(name) &name##_operation(),
#define HEDDLE_NO_FAMILY(name)

HEDDLE_OPERATIONS(HEDDLE_DECLARE_OPERATION, HEDDLE_NO_FAMILY, HEDDLE_NO_FAMILY)

std::span<const Operation* const> every_operation() {
  static const Operation* const all[] = {
      HEDDLE_OPERATIONS(HEDDLE_ADDRESS_OF_OPERATION, HEDDLE_NO_FAMILY, HEDDLE_NO_FAMILY)};
  return all;
}

#undef HEDDLE_NO_FAMILY
#undef HEDDLE_ADDRESS_OF_OPERATION
#undef HEDDLE_DECLARE_OPERATION

const Operation& operation_of(Op op) {
  const auto index = static_cast<std::size_t>(op);
  if (index < every_operation().size()) return *every_operation()[index];
  throw Error(ErrorCategory::kUsage, "spec.op", "there is no such operation");
}

}  // namespace heddle
