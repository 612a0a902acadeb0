#include "generator/spec/parser.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "generator/spec/near_miss.h"

namespace heddle {
namespace {

std::string type_text(FieldKind kind) {
  switch (kind) {
    case FieldKind::kObject:
      return "must be an object";
    case FieldKind::kTuple:
    case FieldKind::kList:
      return "must be an array";
    case FieldKind::kInteger:
      return "must be an integer";
    case FieldKind::kNumber:
      return "must be a number";
    case FieldKind::kBool:
      return "must be a boolean";
    case FieldKind::kWord:
    case FieldKind::kLabel:
      break;
  }
  return "must be a string";
}

bool is_label(const Field& field, std::string_view text) {
  const auto size = static_cast<std::int64_t>(text.size());
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return size >= field.min && size <= field.max && text.find_first_not_of(kLetters) == text.npos;
}

// Precondition: field.no_field_where holds.
std::string why_no_field(const FieldTable& table, const Field& field, const void* object) {
  const Field& other = *table.find(field.no_field_where->pointer);
  return "there is none where " + std::string(other.pointer) + " is " +
         value_text(other, other.slot.get(object).value_or(0));
}

class Parser {
 public:
  Parser(const FieldTable& table, void* object, std::string& name, Findings& findings)
      : table_(table), object_(object), name_(name), findings_(findings) {}

  void parse_root(const Node& root) {
    if (root.kind != Node::Kind::kObject) {
      findings_.add("wrong_type", {"", "the document must be an object", excerpt(root), "", ""});
      return;
    }
    parse_members(root, "");
    take_defaults();
  }

  void parse_operation(const Node& root) {
    const Field& field = *table_.find("/op");
    if (const Node* given = root.find(field.name())) return parse_field(*given, field);
    check_presence(field, nullptr);
  }

 private:
  void parse_members(const Node& node, std::string_view parent) {
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const Field* field = table_.find(parent, node.keys[i]);
      if (parent.empty() && node.keys[i] == kSchemaMember) {
        check_schema_member(node.items[i]);
      } else if (field == nullptr) {
        unknown(parent, node.keys[i], node.items[i]);
      } else {
        parse_field(node.items[i], *field);
      }
    }
    for (const Field& field : table_.fields) {
      if (field.parent() == parent) check_presence(field, node.find(field.name()));
    }
  }

  // Where editors find the schema. It says nothing about the kernel.
  void check_schema_member(const Node& node) {
    if (node.kind == Node::Kind::kString) return;
    findings_.add("wrong_type", {child_pointer("", kSchemaMember), "must be a string",
                                 excerpt(node), "the place of the spec's JSON Schema", ""});
  }

  // Once the other members of the field's object are parsed.
  void check_presence(const Field& field, const Node* given) {
    if (given != nullptr) {
      if (holds(table_, field.no_field_where, object_)) no_such_field(field, *given);
    } else if (holds(table_, field.implied_where, object_)) {
      set(field, field.implied);
    } else if (field.required && !is_misspelt(field)) {
      findings_.add("missing_field", {std::string(field.pointer), "the field is required", "",
                                      allowed_text(table_, field), ""});
    }
  }

  void no_such_field(const Field& field, const Node& node) {
    findings_.add("unknown_field",
                  {std::string(field.pointer), why_no_field(table_, field, object_), excerpt(node),
                   "no such field", ""});
  }

  void parse_field(const Node& node, const Field& field) {
    switch (field.kind) {
      case FieldKind::kObject:
        if (node.kind != Node::Kind::kObject) return wrong_type(node, field);
        return parse_members(node, field.pointer);
      case FieldKind::kTuple:
        return parse_tuple(node, field);
      case FieldKind::kInteger:
        return parse_integer(node, field);
      case FieldKind::kNumber:
        return parse_number(node, field);
      case FieldKind::kBool:
        if (node.kind != Node::Kind::kBool) return wrong_type(node, field);
        return set(field, node.boolean ? 1 : 0);
      case FieldKind::kWord:
        return parse_word(node, field);
      case FieldKind::kList:
        return parse_list(node, field);
      case FieldKind::kLabel:
        return parse_label(node, field);
    }
  }

  void parse_tuple(const Node& node, const Field& field) {
    if (node.kind != Node::Kind::kArray) return wrong_type(node, field);
    std::vector<const Field*> elements;
    for (const Field& child : table_.fields) {
      if (child.parent() == field.pointer) elements.push_back(&child);
    }
    if (node.items.size() != elements.size()) {
      add("wrong_type", node, field,
          "must have exactly " + std::to_string(elements.size()) + " elements", "");
      return;
    }
    for (std::size_t i = 0; i < elements.size(); ++i) parse_field(node.items[i], *elements[i]);
  }

  void parse_list(const Node& node, const Field& field) {
    if (node.kind != Node::Kind::kArray) return wrong_type(node, field);
    std::vector<int> values;
    for (const Node& item : node.items) {
      const std::optional<std::int64_t> value = item.as_integer();
      if (!value) return add("wrong_type", node, field, "must hold integers only", "");
      values.push_back(static_cast<int>(std::clamp<std::int64_t>(*value, -1, field.max + 1)));
    }
    if (values.empty()) return add("out_of_range", node, field, "has no value", "");
    if (!allows(field, values)) {
      return add("out_of_range", node, field, why_not(field, values), "");
    }
    field.list.set(object_, values);
  }

  void parse_integer(const Node& node, const Field& field) {
    const std::optional<std::int64_t> value = node.as_integer();
    if (!value) return wrong_type(node, field);
    if (allows(field, *value)) return set(field, *value);
    add("out_of_range", node, field, why_not(field, *value), "");
  }

  void parse_number(const Node& node, const Field& field) {
    const bool integer = node.kind == Node::Kind::kInteger;
    if (!integer && node.kind != Node::Kind::kNumber) return wrong_type(node, field);
    const double value = integer ? static_cast<double>(node.integer) : node.number;
    // Before it is rounded, as the schema has it.
    if (!(value >= field.least && value <= field.most)) {
      return add("out_of_range", node, field, "is out of range", "");
    }
    set(field, std::bit_cast<std::int32_t>(static_cast<float>(value)));
  }

  void parse_word(const Node& node, const Field& field) {
    if (node.kind != Node::Kind::kString) return wrong_type(node, field);
    const auto word = std::find(field.choices().begin(), field.choices().end(), node.text);
    if (word != field.choices().end()) return set(field, word - field.choices().begin());
    const std::vector<std::string_view> words(field.choices().begin(), field.choices().end());
    add("unknown_word", node, field, "is not a known word", did_you_mean(node.text, words));
  }

  void parse_label(const Node& node, const Field& field) {
    if (node.kind != Node::Kind::kString) return wrong_type(node, field);
    if (is_label(field, node.text)) {
      name_ = node.text;
    } else {
      add("bad_label", node, field, "is not a label", "");
    }
  }

  // An unknown field may be a misspelt one, or one that belongs elsewhere, or both.
  void unknown(std::string_view parent, std::string_view key, const Node& node) {
    if (findings_.full()) return findings_.add("unknown_field", {});
    std::vector<std::string_view> here;
    std::vector<std::string_view> anywhere;
    for (const Field& field : table_.fields) {
      if (table_.find(field.parent()) != nullptr &&
          table_.find(field.parent())->kind == FieldKind::kTuple) {
        continue;
      }
      if (field.parent() == parent) here.push_back(field.name());
      anywhere.push_back(field.name());
    }
    std::string allowed;
    for (const std::string_view name : here) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    }
    std::string hint = belongs_at(key);
    if (hint.empty()) {
      hint = did_you_mean(key, here);
      const std::vector<std::string_view> meant = near_misses(key, here);
      if (meant.size() == 1) misspelt_.push_back(table_.find(parent, meant.front()));
    }
    if (hint.empty()) {
      const std::vector<std::string_view> near = near_misses(key, anywhere);
      if (near.size() == 1) hint = did_you_mean(key, anywhere) + " " + belongs_at(near.front());
    }
    findings_.add("unknown_field", {child_pointer(parent, key), "the field is unknown",
                                    excerpt(node), std::move(allowed), std::move(hint)});
  }

  // Whether an unknown field is told to be this one.
  bool is_misspelt(const Field& field) const {
    return std::find(misspelt_.begin(), misspelt_.end(), &field) != misspelt_.end();
  }

  std::string belongs_at(std::string_view name) const {
    std::string places;
    for (const Field& field : table_.fields) {
      if (field.name() != name || (name[0] >= '0' && name[0] <= '9')) continue;
      places += (places.empty() ? "it belongs at " : " or ") + std::string(field.pointer);
    }
    return places;
  }

  void take_defaults() {
    for (const Field& field : table_.fields) {
      if (field.default_from.empty() || value_of(field)) continue;
      if (holds(table_, field.no_field_where, object_)) continue;
      const Field& other = *table_.find(field.default_from);
      if (const auto value = value_of(other))
        field.slot.set(object_, same_value(other, *value, field));
    }
  }

  void set(const Field& field, std::int64_t value) {
    field.slot.set(object_, value);
    set_.emplace_back(&field, value);
  }
  // What the document gives the field.
  std::optional<std::int64_t> value_of(const Field& field) const {
    for (const auto& [set, value] : set_) {
      if (set == &field) return value;
    }
    return std::nullopt;
  }

  void wrong_type(const Node& node, const Field& field) {
    add("wrong_type", node, field, type_text(field.kind), "");
  }
  void add(std::string_view what, const Node& node, const Field& field, std::string message,
           std::string hint) {
    findings_.add(what, {std::string(field.pointer), std::move(message), excerpt(node),
                         allowed_text(table_, field), std::move(hint)});
  }

  const FieldTable& table_;
  void* object_;
  std::string& name_;
  Findings& findings_;
  std::vector<const Field*> misspelt_;
  std::vector<std::pair<const Field*, std::int64_t>> set_;
};

}  // namespace

void parse_fields(const Node& root, const FieldTable& table, void* object, std::string& name,
                  Findings& findings) {
  Parser(table, object, name, findings).parse_root(root);
}

void add_operation_fault(const Node& root, const FieldTable& table, Findings& findings) {
  std::string name;
  Parser(table, nullptr, name, findings).parse_operation(root);
}

void check_fields(const FieldTable& table, const void* object, const std::string& name,
                  Findings& findings) {
  const auto refuse = [&](std::string_view what, const Field& field, std::string why,
                          std::string value) {
    findings.add(what, {std::string(field.pointer), std::move(why), std::move(value),
                        allowed_text(table, field), ""});
  };
  for (const Field& field : table.fields) {
    if (!field.is_leaf()) continue;
    if (field.kind == FieldKind::kLabel) {
      if (name.empty() || is_label(field, name)) continue;
      refuse("bad_label", field, "is not a label", '"' + excerpt(name) + '"');
      continue;
    }
    if (field.kind == FieldKind::kList) {
      const std::vector<int>& values = field.list.get(object);
      if (!allows(field, values)) {
        refuse("out_of_range", field, why_not(field, values), value_text(values));
      }
      continue;
    }
    const std::optional<std::int64_t> value = field.slot.get(object);
    if (!value) continue;
    if (holds(table, field.no_field_where, object)) {
      const std::int64_t none = field.slot.get(table.defaults).value_or(*value);
      if (*value == none) continue;
      findings.add("unknown_field", {std::string(field.pointer), why_no_field(table, field, object),
                                     value_text(field, *value), value_text(field, none), ""});
      continue;
    }
    if (allows(field, *value)) continue;
    const bool is_number = field.kind == FieldKind::kNumber;
    refuse("out_of_range", field, why_not(field, *value),
           is_number ? value_text(field, *value) : std::to_string(*value));
  }
}

}  // namespace heddle
