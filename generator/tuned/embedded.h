// The tables of tuned/, embedded when the library is built.
#ifndef HEDDLE_GENERATOR_TUNED_EMBEDDED_H_
#define HEDDLE_GENERATOR_TUNED_EMBEDDED_H_

#include <functional>
#include <map>
#include <string>

namespace heddle {

// The text of every file of tuned/ by its name ("h100.json").
const std::map<std::string, std::string, std::less<>>& embedded_tuned_tables();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_EMBEDDED_H_
