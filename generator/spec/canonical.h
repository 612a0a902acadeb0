// The two texts that are made from a table: a struct's canonical JSON, and the JSON Schema.
#ifndef HEDDLE_GENERATOR_SPEC_CANONICAL_H_
#define HEDDLE_GENERATOR_SPEC_CANONICAL_H_

#include <span>
#include <string>

#include "generator/spec/fields.h"

namespace heddle {

// One line, fields in the table's order, every value written out; no label, no unset optionals, no
// silent defaults and no objects that would be empty.
std::string canonical_text(const FieldTable& table, const void* object);

// JSON Schema, draft 2020-12, of the operations of these tables, indented by two spaces, with a
// line feed at its end.
std::string schema_text(std::span<const FieldTable* const> tables);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_CANONICAL_H_
