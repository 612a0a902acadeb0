// Text from inputs on its way to a terminal: names in files, paths, messages of libraries. Whatever
// prints a name of an input sends it through one of these.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_PRINTABLE_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

// The text in one line: control characters (those of ASCII and U+0080 to U+009F), characters that
// reorder or break lines (U+2028 to U+202E, U+2066 to U+2069) and bytes that are no UTF-8 are shown
// as \xNN, one for each byte. Everything else stays.
std::string printable(std::string_view text);

// As above, but line breaks and tabs stay: for text that has several lines of its own.
std::string printable_lines(std::string_view text);

// As many bytes of UTF-8 text as `most` allows, without half a character at the end.
std::string_view cut_text(std::string_view text, std::size_t most);

// "1 kernel", "2 kernels": a number of things whose plural ends in s.
std::string count_text(std::size_t count, std::string_view noun);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_PRINTABLE_H_
