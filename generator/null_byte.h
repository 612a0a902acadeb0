// Null bytes in what becomes the name of a file.
#ifndef HEDDLE_GENERATOR_NULL_BYTE_H_
#define HEDDLE_GENERATOR_NULL_BYTE_H_

#include <string_view>

namespace heddle {

// Throws Error(kUsage, "path.null_byte") if the text has a null byte: the system would take what is
// before it for the whole name. `name` is what the caller knows the text by.
void refuse_null_byte(std::string_view text, std::string_view name);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_NULL_BYTE_H_
