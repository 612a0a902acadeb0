// A word as error messages show it.
#ifndef HEDDLE_GENERATOR_SPEC_IN_QUOTES_H_
#define HEDDLE_GENERATOR_SPEC_IN_QUOTES_H_

#include <string>
#include <string_view>

namespace heddle {

inline std::string in_quotes(std::string_view word) { return '"' + std::string(word) + '"'; }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_IN_QUOTES_H_
