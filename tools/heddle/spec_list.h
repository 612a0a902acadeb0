// One spec or a list of specs as the input of a command.
#ifndef HEDDLE_TOOLS_HEDDLE_SPEC_LIST_H_
#define HEDDLE_TOOLS_HEDDLE_SPEC_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "heddle/model.h"
#include "heddle/spec.h"

namespace heddle {

// Whether the text begins as a JSON array.
bool is_spec_list(std::string_view text);

// Both throw what Spec::parse throws, with the place of each problem; the second one for all
// elements at once, and Error(kSpec, "tool.bad_list") for a list without any.
Spec parse_at(const std::string& place, std::string_view text);
Model model_of_list(const std::string& place, const std::string& text);

// The elements of a JSON array as they stand in the text. Precondition: `json` is a valid array.
// The text is kept because parsing and printing it again would hide a duplicate key.
std::vector<std::string_view> array_elements(std::string_view json);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SPEC_LIST_H_
