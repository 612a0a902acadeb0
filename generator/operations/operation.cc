#include "generator/operations/operation.h"

#include "generator/operations/launch_size.h"

namespace heddle {

void Operation::check_size(const void* fields, const LaunchSize& size) const {
  refuse_unless_zero(size.sequences, "sequences");
  refuse_unless_zero(size.has_offsets ? 1 : 0, "has_offsets");
  if (size_kind() != SizeKind::kRows) return refuse_unless_zero(size.size, "size");
  check_m(m_range(fields), size.size);
}

std::vector<Problem> check_meaning(const Spec& spec) {
  return operation_of(spec).problems(spec.fields());
}

}  // namespace heddle
