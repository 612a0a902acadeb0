// Document: JSON text as a tree of nodes, read strictly.
#ifndef HEDDLE_GENERATOR_SPEC_DOCUMENT_H_
#define HEDDLE_GENERATOR_SPEC_DOCUMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/spec/findings.h"

namespace heddle {

struct Node {
  enum class Kind { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;       // kInteger
  double number = 0;              // kNumber: fractions, exponents, beyond int64
  std::string text;               // kString: the string; kNumber: as it was written
  std::vector<std::string> keys;  // kObject: parallel to items, no two equal
  std::vector<Node> items;        // kArray, kObject
  // For a large object that read_document() made: the places of its keys, ascending by key, for
  // find(). Of no use once a member was added.
  std::vector<std::uint32_t> sorted;

  // The member `key` of an object, or null.
  const Node* find(std::string_view key) const noexcept;
  // An integer in the sense of JSON Schema: 4, 4.0 and 4e0 are the same. Values beyond int64 become
  // its nearest end, which is out of every field's range.
  std::optional<std::int64_t> as_integer() const noexcept;
};

struct DocumentLimits {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t depth = 32;  // of nested objects and arrays
  // Bare NaN, Infinity and -Infinity are numbers, as Python's json writes and reads them.
  bool python_constants = false;
};

// Reads one JSON text (RFC 8259, UTF-8). Findings: "syntax" (with line and column), "too_large",
// "too_deep", which give no node, and "duplicate_field", where the first one counts.
std::optional<Node> read_document(std::string_view text, const DocumentLimits& limits,
                                  Findings& findings);

inline constexpr std::size_t kLongestExcerpt = 60;

// JSON text of the node for messages: printable ASCII, cut after kLongestExcerpt characters.
std::string excerpt(const Node& node);
// As above, for a string, without quotes.
std::string excerpt(std::string_view text);
// parent + "/" + key, escaped as in RFC 6901; an absurd key is cut like an excerpt.
std::string child_pointer(std::string_view parent, std::string_view key);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_DOCUMENT_H_
