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

// The candidates that `word` may have been meant for, at most three: those that others call so
// ("float16" is fp16, "fp8" one of two types); else the nearest ones, where they are near enough,
// one edit for three letters; else the only one that it is a part of, or that is a part of it.
std::vector<std::string_view> near_misses(std::string_view word,
                                          const std::vector<std::string_view>& candidates);

// As above, as a question, "did you mean \"fp8_e4m3\" or \"fp8_e5m2\"?", or "" if none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_NEAR_MISS_H_
