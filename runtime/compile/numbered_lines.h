// A source text with line numbers, for compile errors.
#ifndef HEDDLE_RUNTIME_COMPILE_NUMBERED_LINES_H_
#define HEDDLE_RUNTIME_COMPILE_NUMBERED_LINES_H_

#include <string>
#include <string_view>

namespace heddle {

// Each line behind its number, counted from 1, right-aligned: "   7 | int x;\n". Pure.
std::string numbered_lines(std::string_view text);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_NUMBERED_LINES_H_
