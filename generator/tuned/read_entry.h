#ifndef HEDDLE_GENERATOR_TUNED_READ_ENTRY_H_
#define HEDDLE_GENERATOR_TUNED_READ_ENTRY_H_

#include <map>
#include <optional>
#include <string>

#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "heddle/tuned.h"

namespace heddle {

// The entry, or what is wrong with it in `findings`. `families` are the table's versions, for
// entries that have none of their own.
std::optional<TunedEntry> read_entry(const Node& node, const std::string& pointer,
                                     const std::map<std::string, int>& families,
                                     Findings* findings);

// The most that a family's version may be.
inline constexpr int kMostFamilyVersion = 1000000;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_READ_ENTRY_H_
