#include <nlohmann/json.hpp>
#include <vector>

#include "generator/spec/canonical.h"
#include "generator/spec/parser.h"

namespace heddle {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson field_schema(const FieldTable& table, const Field& field);

// What the object's fields owe to conditions, of which all its fields have the same one, if any.
void add_conditions(const FieldTable& table, std::string_view parent, OrderedJson& schema) {
  const Condition* condition = nullptr;
  OrderedJson absent = OrderedJson::object();
  OrderedJson required = OrderedJson::array();
  for (const Field& field : table.fields) {
    if (field.parent() != parent) continue;
    if (field.no_field_where != nullptr) {
      condition = field.no_field_where;
      absent[std::string(field.name())] = false;
    }
    if (field.required && field.implied_where != nullptr) {
      condition = field.implied_where;
      required.push_back(field.name());
    }
  }
  if (condition == nullptr) return;
  const std::string name(table.find(condition->pointer)->name());
  OrderedJson where;
  where["properties"][name]["enum"] = condition->words;
  // Where the word is left out, its default decides.
  if (!holds(table, condition, table.defaults)) where["required"] = OrderedJson::array({name});
  schema["if"] = std::move(where);
  schema["then"]["properties"] = std::move(absent);
  schema["else"]["required"] = std::move(required);
}

void add_members(const FieldTable& table, std::string_view parent, OrderedJson& schema) {
  OrderedJson properties = OrderedJson::object();
  OrderedJson required = OrderedJson::array();
  for (const Field& field : table.fields) {
    if (field.parent() != parent) continue;
    properties[std::string(field.name())] = field_schema(table, field);
    if (field.required && field.implied_where == nullptr) required.push_back(field.name());
  }
  schema["type"] = "object";
  schema["additionalProperties"] = false;
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  add_conditions(table, parent, schema);
}

void add_elements(const FieldTable& table, std::string_view parent, OrderedJson& schema) {
  OrderedJson elements = OrderedJson::array();
  for (const Field& field : table.fields) {
    if (field.parent() == parent) elements.push_back(field_schema(table, field));
  }
  schema["type"] = "array";
  schema["minItems"] = elements.size();
  schema["maxItems"] = elements.size();
  schema["prefixItems"] = std::move(elements);
}

void add_integers(const Field& field, OrderedJson& schema) {
  schema["type"] = "integer";
  if (field.min == field.max && field.also.empty()) {
    schema["const"] = field.min;
    return;
  }
  OrderedJson range = {{"minimum", field.min}, {"maximum", field.max}};
  if (field.multiple != 1) range["multipleOf"] = field.multiple;
  if (field.also.empty()) {
    schema.update(range);
    return;
  }
  schema["anyOf"] = OrderedJson::array();
  for (const std::int64_t also : field.also)
    schema["anyOf"].push_back(OrderedJson{{"const", also}});
  schema["anyOf"].push_back(std::move(range));
}

void add_numbers(const Field& field, OrderedJson& schema) {
  schema["type"] = "number";
  schema["minimum"] = field.least;
  schema["maximum"] = field.most;
}

void add_list(const Field& field, OrderedJson& schema) {
  schema["type"] = "array";
  schema["items"] = {{"type", "integer"}, {"minimum", 0}, {"maximum", field.max}};
  schema["minItems"] = 1;
  schema["uniqueItems"] = true;
}

// The letters are a `not` because "$" also matches before a line feed in some dialects.
void add_label(const Field& field, OrderedJson& schema) {
  schema["type"] = "string";
  schema["minLength"] = field.min;
  schema["maxLength"] = field.max;
  schema["not"] = {{"pattern", "[^A-Za-z0-9._-]"}};
}

void add_default(const FieldTable& table, const Field& field, OrderedJson& schema) {
  if (field.required || !field.default_from.empty()) return;
  if (field.kind == FieldKind::kLabel || field.kind == FieldKind::kList) return;
  if (field.is_leaf()) {
    if (const auto value = field.slot.get(table.defaults)) {
      schema["default"] = OrderedJson::parse(value_text(field, *value));
    }
  } else if (field.kind == FieldKind::kTuple) {
    OrderedJson values = OrderedJson::array();
    for (const Field& child : table.fields) {
      if (child.parent() == field.pointer) values.push_back(*child.slot.get(table.defaults));
    }
    schema["default"] = std::move(values);
  }
}

OrderedJson field_schema(const FieldTable& table, const Field& field) {
  OrderedJson schema;
  std::string description(field.doc);
  if (!field.default_from.empty()) {
    description += "; by default as " + std::string(field.default_from);
  }
  schema["description"] = std::move(description);
  switch (field.kind) {
    case FieldKind::kObject:
      add_members(table, field.pointer, schema);
      break;
    case FieldKind::kTuple:
      add_elements(table, field.pointer, schema);
      break;
    case FieldKind::kInteger:
      add_integers(field, schema);
      break;
    case FieldKind::kNumber:
      add_numbers(field, schema);
      break;
    case FieldKind::kBool:
      schema["type"] = "boolean";
      break;
    case FieldKind::kWord:
      schema["type"] = "string";
      schema["enum"] = field.choices();
      break;
    case FieldKind::kList:
      add_list(field, schema);
      break;
    case FieldKind::kLabel:
      add_label(field, schema);
      break;
  }
  add_default(table, field, schema);
  return schema;
}

}  // namespace

std::string schema_text(std::span<const FieldTable* const> tables) {
  OrderedJson schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["$id"] = "urn:heddle:spec:1";
  schema["title"] = "Heddle spec";
  schema["description"] = "What one kernel must do. Rules between fields are checked by resolve.";
  schema["oneOf"] = OrderedJson::array();
  for (const FieldTable* table : tables) {
    OrderedJson operation;
    operation["title"] = to_string(table->op);
    add_members(*table, "", operation);
    operation["properties"][std::string(kSchemaMember)] = {
        {"description", "where editors find this schema; no part of what is generated"},
        {"type", "string"}};
    operation["properties"]["op"].erase("enum");
    operation["properties"]["op"]["const"] = to_string(table->op);
    schema["oneOf"].push_back(std::move(operation));
  }
  return schema.dump(2) + '\n';
}

}  // namespace heddle
