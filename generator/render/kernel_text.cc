#include "generator/render/kernel_text.h"

#include <fmt/format.h>

#include <sstream>

#include "generator/render/template_text.h"
#include "heddle/version.h"

namespace heddle {
namespace {

std::string as_comment(const std::string& text) {
  std::istringstream lines(text);
  std::string comment;
  for (std::string line; std::getline(lines, line);) {
    comment += line.empty() ? "//\n" : "// " + line + '\n';
  }
  return comment;
}

}  // namespace

std::string value_type(DType dtype) { return dtype == DType::kBf16 ? "Bf16" : "Fp16"; }

std::string kernel_text(const Plan& plan, const std::string& decisions,
                        std::string_view template_path, const std::string& definitions,
                        const std::string& entry) {
  const std::string banner = as_comment(fmt::format(
      "Made by Heddle {}.\n\n"
      "spec:   {}\n"
      "target: {}\n"
      "{}",
      HEDDLE_VERSION, plan.spec.canonical_json(), compiler_arch(plan.target), decisions));
  return banner + '\n' + expand_template(template_path) + "namespace heddle {\n\n" + definitions +
         "\n}  // namespace heddle\n\n" + entry;
}

std::string entry_text(const std::string& name, int threads, int blocks_per_sm,
                       const std::string& parameters, const std::string& call) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, {})\n"
      "    {}({}) {{\n"
      "  {};\n"
      "}}\n",
      threads, blocks_per_sm, name, parameters, call);
}

}  // namespace heddle
