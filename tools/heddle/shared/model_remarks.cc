#include "tools/heddle/shared/model_remarks.h"

#include <string>

#include "generator/model/layer_json.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {

void print_unserved(const Model& model) {
  for (const std::string& line : unserved_lines(model)) print_problem(line);
}

void print_remarks(const Model& model) {
  for (const std::string& line : remark_lines(model)) print_problem(line);
}

}  // namespace heddle
