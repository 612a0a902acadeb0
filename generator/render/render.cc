#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "generator/families/family.h"
#include "generator/render/digest.h"
#include "generator/render/template_text.h"
#include "heddle/error.h"
#include "heddle/inspect/source.h"
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

// The spec, the target and what was decided, by whom. Texts that are one for several shapes say
// none.
std::string banner_text(const Plan& plan, const PlannedKernel& kernel, const KernelText& text) {
  std::string spec = plan.spec.canonical_json();
  std::string range;
  if (kernel.takes(KernelArgument::kShape)) {
    auto any = nlohmann::ordered_json::parse(spec);
    any.erase("shape");
    spec = any.dump();
    range = "any N, K and M: ";
  } else if (plan.spec.has_m()) {
    range = fmt::format("M {} to {}: ", kernel.size_min, kernel.size_max);
  }
  return as_comment(
      fmt::format("Made by Heddle {}.\n\n"
                  "spec:   {}\n"
                  "target: {}\n"
                  "family: {}\n"
                  "{}{}",
                  HEDDLE_VERSION, spec, compiler_arch(plan.target), kernel.family->name(), range,
                  text.decisions));
}

// The parameter of an entry point as C++ declares it.
std::string declaration(KernelArgument argument, const KernelText& text) {
  switch (argument) {
    case KernelArgument::kTokenMap:
    case KernelArgument::kXScaleMap:
      return fmt::format("const __grid_constant__ heddle::TensorMap {}", to_string(argument));
    case KernelArgument::kParameters:
      return fmt::format("const __grid_constant__ heddle::{} parameters", text.parameter_type);
    case KernelArgument::kShape:
      return "const __grid_constant__ heddle::WeightShape shape";
    case KernelArgument::kM:
    case KernelArgument::kSchedule:
      return fmt::format("int {}", to_string(argument));
    case KernelArgument::kOrder:
      return "const int* order";
    case KernelArgument::kY:
    case KernelArgument::kYScales:
    case KernelArgument::kGathered:
    case KernelArgument::kW:
    case KernelArgument::kWorkspace:
    case KernelArgument::kPacked:
      return fmt::format("heddle::u8* {}", to_string(argument));
    default:
      return fmt::format("const heddle::u8* {}", to_string(argument));
  }
}

// "extern "C" __global__ ... name(parameters) { heddle::function<...>(arguments); }".
std::string entry_text(const PlannedKernel& kernel, const KernelText& text) {
  std::string parameters;
  std::string arguments;
  for (const KernelArgument argument : kernel.arguments) {
    const char* before = arguments.empty() ? "" : ", ";
    parameters += (arguments.empty() ? "" : ",\n       ") + declaration(argument, text);
    arguments += before;
    arguments += to_string(argument);
  }
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, {})\n"
      "    {}({}) {{\n"
      "  heddle::{}({});\n"
      "}}\n",
      kernel.threads, kernel.blocks_per_sm, kernel.name, parameters, text.function, arguments);
}

Source render_kernel(const std::shared_ptr<const Plan>& shared_plan, std::size_t index) {
  const Plan& plan = *shared_plan;
  if (index >= plan.kernel_count()) {
    throw Error(
        ErrorCategory::kUsage, "render.kernel",
        fmt::format("the plan has {} kernels, there is no number {}", plan.kernel_count(), index));
  }
  const PlannedKernel& kernel = plan.kernel(index);
  const KernelText text = kernel.family->text(plan, kernel);
  Source source;
  source.kernel_name = kernel.name;
  source.threads = kernel.threads;
  source.dynamic_shared_bytes = kernel.shared_bytes;
  source.text = banner_text(plan, kernel, text) + '\n' + expand_template(text.template_path) +
                "namespace heddle {\n\n" + text.definitions + "\n}  // namespace heddle\n\n" +
                entry_text(kernel, text);
  source.arch = compiler_arch(plan.target);
  source.spec = plan.spec.canonical_json();
  source.target = plan.target.name;
  source.plan = shared_plan;
  source.file_name = fmt::format("{}_{}.cu", source.kernel_name, content_digest(source.text));
  return source;
}

}  // namespace

Source render(const Plan& plan, std::size_t index) {
  return render_kernel(std::make_shared<const Plan>(plan), index);
}

std::vector<Source> render_all(const Plan& plan) {
  const auto shared_plan = std::make_shared<const Plan>(plan);
  std::vector<Source> sources;
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) {
    sources.push_back(render_kernel(shared_plan, i));
  }
  return sources;
}

}  // namespace heddle
