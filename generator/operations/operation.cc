#include "generator/operations/operation.h"

#include <fmt/core.h>

#include "generator/operations/launch_size.h"

namespace heddle {

void Operation::check_size(const void* fields, const LaunchSize& size) const {
  refuse_unless_zero(size.sequences, "sequences");
  refuse_unless_zero(size.has_offsets ? 1 : 0, "has_offsets");
  if (size_kind() != SizeKind::kRows) return refuse_unless_zero(size.size, "size");
  check_m(sizes(fields), size.size);
}

std::vector<LaunchSize> Operation::usual_launches(const MRange& sizes) const {
  return {{sizes.max}};
}

std::string Operation::size_text(const MRange& sizes) const {
  return fmt::format("{} {} to {}", size_name(), sizes.min, sizes.max);
}

std::string Operation::launches_text(const MRange& sizes) const {
  return fmt::format("at {} = {}", size_name(), sizes.max);
}

MRange sizes_of(const Spec& spec) { return operation_of(spec).sizes(spec.fields()); }

std::vector<Problem> check_meaning(const Spec& spec) {
  return operation_of(spec).problems(spec.fields());
}

}  // namespace heddle
