// Near misses: which known word did the writer mean?
#ifndef HEDDLE_GENERATOR_SPEC_NEAR_MISS_H_
#define HEDDLE_GENERATOR_SPEC_NEAR_MISS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`; the case of
// ASCII letters does not count.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, the first of equals, or "" if none is near enough: one edit for
// three letters.
std::string_view near_miss(std::string_view word, const std::vector<std::string_view>& candidates);

// "did you mean \"group_size\"?", or "" for an empty word.
std::string did_you_mean(std::string_view word);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_NEAR_MISS_H_
