// Words of a config: in one case, and as messages quote them.
#ifndef HEDDLE_GENERATOR_MODEL_WORDS_H_
#define HEDDLE_GENERATOR_MODEL_WORDS_H_

#include <string>
#include <string_view>

namespace heddle {

std::string lower(std::string text);
std::string upper(std::string text);
std::string quoted_excerpt(std::string_view text);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_WORDS_H_
