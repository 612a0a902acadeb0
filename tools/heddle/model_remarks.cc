#include "tools/heddle/model_remarks.h"

#include <fmt/format.h>

#include "tools/heddle/errors.h"

namespace heddle {

std::string unserved_name(const ModelUnserved& unserved) {
  if (unserved.layers < 2) return unserved.name;
  return fmt::format("{} ({} layers)", unserved.name, unserved.layers);
}

void print_unserved(const Model& model) {
  for (const ModelUnserved& unserved : model.unserved) {
    print_problem(fmt::format("no kernel for {}: {}", unserved_name(unserved), unserved.reason));
  }
}

void print_remarks(const Model& model) {
  for (const std::string& note : model.notes) print_problem("note: " + note);
  for (const std::string& what : model.assumptions) print_problem("assumed: " + what);
  print_unserved(model);
}

}  // namespace heddle
