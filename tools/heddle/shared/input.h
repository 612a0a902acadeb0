// Where specs come from: a file, standard input, or the command line itself.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_INPUT_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_INPUT_H_

#include <string>

#include "heddle/spec.h"

namespace heddle {

struct Input {
  std::string place;  // for messages: the file's name, "standard input", "inline spec"
  std::string text;
};

// `argument` is a path, "-", or JSON that starts with '{'. Throws Error(kFile) if it cannot be
// read or is larger than any spec could be, Error(kSpec, "tool.not_text") for text with a NUL byte.
Input read_input(const std::string& argument);

// read_input and Spec::parse; errors name the place.
Spec read_spec(const std::string& argument);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_INPUT_H_
