#ifndef HEDDLE_GENERATOR_TUNED_READ_ENTRY_H_
#define HEDDLE_GENERATOR_TUNED_READ_ENTRY_H_

#include <map>
#include <optional>
#include <string>

#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "heddle/tuned.h"

namespace heddle {

// What a table says of all of its entries.
struct EntryContext {
  std::map<std::string, int> families;  // versions, for entries that have none of their own
  bool knows_bytes = false;             // by its version: activations of eight bits
};

// The entry, or what is wrong with it in `findings`.
std::optional<TunedEntry> read_entry(const Node& node, const std::string& pointer,
                                     const EntryContext& table, Findings* findings);

// The most that a family's version may be.
inline constexpr int kMostFamilyVersion = 1000000;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_READ_ENTRY_H_
