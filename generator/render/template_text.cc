#include "generator/render/template_text.h"

#include <sstream>

#include "generator/render/embedded.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::string_view kInclude = "#include \"";
constexpr std::string_view kOnce = "#pragma once";
constexpr std::string_view kParameters = "// heddle-parameters:";

const std::string& embedded(std::string_view path) {
  const auto found = embedded_templates().find(path);
  if (found == embedded_templates().end()) {
    throw Error(ErrorCategory::kInternal, "render.no_template",
                "no template " + std::string(path) + " is embedded");
  }
  return found->second;
}

void expand(const std::string& path, std::set<std::string>& done, std::string& out) {
  if (!done.insert(path).second) return;
  std::istringstream lines(embedded(path));
  std::string own;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kInclude)) {
      expand(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()), done, out);
    } else if (line != kOnce) {
      own.append(line).push_back('\n');
    }
  }
  out += "// ---- " + path + "\n" + own + '\n';
}

}  // namespace

std::string expand_template(std::string_view path) {
  std::set<std::string> done;
  std::string text;
  expand(std::string(path), done, text);
  return text;
}

std::set<std::string> template_parameters(std::string_view path) {
  std::set<std::string> names;
  std::istringstream lines(embedded(path));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kParameters)) continue;
    std::istringstream words(line.substr(kParameters.size()));
    for (std::string word; words >> word;) names.insert(word);
  }
  return names;
}

}  // namespace heddle
