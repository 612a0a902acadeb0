#include "generator/render/config.h"

#include <fmt/format.h>

#include <set>

#include "generator/render/template_text.h"
#include "heddle/error.h"

namespace heddle {

void ConfigWriter::number(std::string name, std::int64_t value) {
  const char* type = value > INT32_MAX || value < INT32_MIN ? "long long" : "int";
  std::string line = fmt::format("static constexpr {} {} = {};", type, name, value);
  members_.push_back({std::move(name), std::move(line)});
}

void ConfigWriter::flag(std::string name, bool value) {
  std::string line = fmt::format("static constexpr bool {} = {};", name, value);
  members_.push_back({std::move(name), std::move(line)});
}

void ConfigWriter::enumerator(std::string name, std::string type, std::string value) {
  std::string line = fmt::format("static constexpr {} {} = {}::{};", type, name, type, value);
  members_.push_back({std::move(name), std::move(line)});
}

void ConfigWriter::type(std::string name, std::string value) {
  std::string line = fmt::format("using {} = {};", name, value);
  members_.push_back({std::move(name), std::move(line)});
}

std::string ConfigWriter::text(std::string_view template_path, std::string_view name) const {
  std::set<std::string> wanted = template_parameters(template_path);
  std::string text = fmt::format("struct {} {{\n", name);
  for (const Member& member : members_) {
    if (wanted.erase(member.name) == 0) {
      throw Error(ErrorCategory::kInternal, "render.parameters",
                  fmt::format("{} has no parameter {}", template_path, member.name));
    }
    text += "  " + member.line + '\n';
  }
  if (!wanted.empty()) {
    throw Error(ErrorCategory::kInternal, "render.parameters",
                fmt::format("{} also needs {}", template_path, *wanted.begin()));
  }
  return text + "};\n";
}

}  // namespace heddle
