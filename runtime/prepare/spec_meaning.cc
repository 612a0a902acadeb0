#include "runtime/prepare/spec_meaning.h"

#include <cstdint>
#include <optional>

#include "generator/operations/operation.h"

namespace heddle {
namespace {

bool same_value(const Field& field, const void* a, const void* b) {
  if (field.kind == FieldKind::kList) return field.list.get(a) == field.list.get(b);
  return field.slot.get(a) == field.slot.get(b);
}

bool has_value(const Field& field) { return field.is_leaf() && field.kind != FieldKind::kLabel; }

void mix(std::uint64_t* hash, std::uint64_t value) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  *hash = (*hash ^ value) * kOdd;
  *hash ^= *hash >> 29;
}

}  // namespace

bool SameMeaning::operator()(const Spec& a, const Spec& b) const noexcept {
  if (a.op() != b.op()) return false;
  const void* of_a = a.fields();
  const void* of_b = b.fields();
  for (const Field& field : operation_of(a).fields().fields) {
    if (has_value(field) && !same_value(field, of_a, of_b)) return false;
  }
  return true;
}

std::size_t MeaningHash::operator()(const Spec& spec) const noexcept {
  const void* object = spec.fields();
  auto hash = static_cast<std::uint64_t>(spec.op());
  for (const Field& field : operation_of(spec).fields().fields) {
    if (!has_value(field)) continue;
    if (field.kind == FieldKind::kList) {
      for (const int value : field.list.get(object)) mix(&hash, static_cast<std::uint64_t>(value));
      continue;
    }
    // No field's value is the least integer.
    const std::optional<std::int64_t> value = field.slot.get(object);
    mix(&hash, value ? static_cast<std::uint64_t>(*value) : std::uint64_t{1} << 63);
  }
  return hash;
}

}  // namespace heddle
