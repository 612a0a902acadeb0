// The device code of templates/, embedded when the library is built.
#ifndef HEDDLE_GENERATOR_RENDER_EMBEDDED_H_
#define HEDDLE_GENERATOR_RENDER_EMBEDDED_H_

#include <functional>
#include <map>
#include <string>

namespace heddle {

// Path below templates/ -> text.
const std::map<std::string, std::string, std::less<>>& embedded_templates();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_EMBEDDED_H_
