// Templates as text, their includes expanded.
#ifndef HEDDLE_GENERATOR_RENDER_TEMPLATE_TEXT_H_
#define HEDDLE_GENERATOR_RENDER_TEMPLATE_TEXT_H_

#include <string>
#include <string_view>

namespace heddle {

// The template with every #include "..." replaced by that file, each file once, in order. Throws
// Error(kInternal) for an include that is not embedded.
std::string expand_template(std::string_view path);

// As above, for a text that is not embedded itself but includes what is.
std::string expand_includes(const std::string& text);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_TEMPLATE_TEXT_H_
