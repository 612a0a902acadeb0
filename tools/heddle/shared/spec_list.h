// One spec or a list of specs as the input of a command.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_SPEC_LIST_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_SPEC_LIST_H_

#include <functional>
#include <string>
#include <string_view>

#include "heddle/model.h"
#include "heddle/spec.h"

namespace heddle {

// Whether the text begins as a JSON array.
bool is_spec_list(std::string_view text);

// Both throw what Spec::parse throws, with the place of each problem; the second one for all
// elements up to the one with the fiftieth problem, as Error(kSpec, "tool.bad_list"), which a list
// without any is, too.
Spec parse_at(const std::string& place, std::string_view text);
Model model_of_list(const std::string& place, const std::string& text);

// The elements of a JSON array as they stand in the text, until `visit` says false. Precondition:
// `json` is a valid array. Parsing and printing an element again would hide a duplicate key.
void for_each_element(std::string_view json,
                      const std::function<bool(std::string_view element)>& visit);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_SPEC_LIST_H_
