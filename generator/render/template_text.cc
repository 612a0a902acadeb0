#include "generator/render/template_text.h"

#include <set>
#include <sstream>

#include "generator/render/embedded.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::string_view kInclude = "#include \"";
constexpr std::string_view kOnce = "#pragma once";

const std::string& embedded(std::string_view path) {
  const auto found = embedded_templates().find(path);
  if (found == embedded_templates().end()) {
    throw Error(ErrorCategory::kInternal, "render.no_template",
                "no template " + std::string(path) + " is embedded");
  }
  return found->second;
}

// `text` without its includes, which are appended to `out` before.
std::string expand(const std::string& text, std::set<std::string>& done, std::string& out) {
  std::istringstream lines(text);
  std::string own;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kInclude)) {
      const std::string path = line.substr(kInclude.size(), line.rfind('"') - kInclude.size());
      if (!done.insert(path).second) continue;
      const std::string included = expand(embedded(path), done, out);
      out.append("// ---- ").append(path).append("\n").append(included).append("\n");
    } else if (line != kOnce) {
      own.append(line).push_back('\n');
    }
  }
  return own;
}

}  // namespace

std::string expand_includes(const std::string& text) {
  std::set<std::string> done;
  std::string out;
  const std::string own = expand(text, done, out);
  return out + own;
}

std::string expand_template(std::string_view path) {
  return expand_includes(std::string(kInclude) + std::string(path) + '"');
}

}  // namespace heddle
