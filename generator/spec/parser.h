// Parser: checks a document against the table of its operation.
#ifndef HEDDLE_GENERATOR_SPEC_PARSER_H_
#define HEDDLE_GENERATOR_SPEC_PARSER_H_

#include <string>
#include <string_view>

#include "generator/spec/document.h"
#include "generator/spec/fields.h"
#include "generator/spec/findings.h"

namespace heddle {

// A member that every spec may have: where editors find its JSON Schema. It is a string, and is not
// kept.
inline constexpr std::string_view kSchemaMember = "$schema";

// Writes every good value into `object`, the struct of the table's operation, and the label into
// `name`; adds everything that is wrong to `findings`: "unknown_field", "missing_field",
// "wrong_type", "out_of_range", "unknown_word", "bad_label". Fields that are absent keep the value
// that `object` has, except those that default to another field's value.
void parse_fields(const Node& root, const FieldTable& table, void* object, std::string& name,
                  Findings& findings);

// Of a document whose operation is missing or not known, about which nothing else can be said: adds
// what is wrong with its "op". `table` is of any operation.
void add_operation_fault(const Node& root, const FieldTable& table, Findings& findings);

// Checks the values of a struct that was not made by parse_fields.
void check_fields(const FieldTable& table, const void* object, const std::string& name,
                  Findings& findings);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_PARSER_H_
