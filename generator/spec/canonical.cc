#include "generator/spec/canonical.h"

namespace heddle {
namespace {

// "" for what is not there.
std::string node_text(const FieldTable& table, const void* object, const Field& field);

std::string members_text(const FieldTable& table, const void* object, std::string_view parent,
                         bool names) {
  std::string text;
  for (const Field& field : table.fields) {
    if (field.pointer.empty() || field.parent() != parent) continue;
    const std::string value = node_text(table, object, field);
    if (value.empty()) continue;
    if (!text.empty()) text += ',';
    if (names) text += '"' + std::string(field.name()) + "\":";
    text += value;
  }
  return text;
}

std::string node_text(const FieldTable& table, const void* object, const Field& field) {
  if (field.kind == FieldKind::kLabel) return {};
  if (field.kind == FieldKind::kList) {
    const std::vector<int>& values = field.list.get(object);
    return values.empty() ? std::string() : value_text(values);
  }
  if (holds(table, field.no_field_where, object)) return {};
  if (field.is_leaf()) {
    const std::optional<std::int64_t> value = field.slot.get(object);
    if (field.silent_default && value == field.slot.get(table.defaults)) return {};
    return value ? value_text(field, *value) : std::string();
  }
  const bool tuple = field.kind == FieldKind::kTuple;
  const std::string members = members_text(table, object, field.pointer, !tuple);
  if (members.empty()) return {};
  return tuple ? '[' + members + ']' : '{' + members + '}';
}

}  // namespace

std::string canonical_text(const FieldTable& table, const void* object) {
  return '{' + members_text(table, object, "", true) + '}';
}

}  // namespace heddle
