#include "tests/new_operation/operation/scale.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "generator/families/all.h"
#include "generator/families/family.h"

namespace heddle {
namespace {

constexpr int kThreads = 256;

const ScaleSpec& scale_of(const Plan& plan) {
  return *static_cast<const ScaleSpec*>(plan.spec.fields());
}

class Scale final : public Family {
 public:
  std::string_view name() const noexcept override { return "scale"; }

  std::vector<PlannedKernel> candidates(const Plan& /*plan*/, const MRange& m) const override {
    PlannedKernel kernel;
    kernel.family = this;
    kernel.size_min = m.min;
    kernel.size_max = m.max;
    kernel.threads = kThreads;
    kernel.blocks_per_sm = 1;
    kernel.arguments = {KernelArgument::kX, KernelArgument::kY, KernelArgument::kM};
    return {kernel};
  }
  std::string kernel_name(const Plan& plan, const PlannedKernel& /*kernel*/) const override {
    return fmt::format("heddle_scale_n{}", scale_of(plan).columns);
  }
  std::vector<std::string> reasons(const Plan& /*plan*/) const override {
    return {"a thread takes an element"};
  }
  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    KernelText text;
    text.template_path = "scale/scale.cuh";
    text.decisions = describe(kernel) + '\n';
    text.definitions = fmt::format(
        "struct Config {{\n  static constexpr int columns = {};\n  static constexpr float factor = "
        "{};\n}};\n",
        scale_of(plan).columns, scale_of(plan).factor);
    text.function = "scale<heddle::Config>";
    return text;
  }
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    KernelLaunch launch;
    const std::int64_t elements = size.size * scale_of(plan).columns;
    launch.grid_x = static_cast<unsigned>((elements + kernel.threads - 1) / kernel.threads);
    return launch;
  }
  std::string describe(const PlannedKernel& kernel) const override {
    return fmt::format("{} threads", kernel.threads);
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    return std::to_string(kernel.threads);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return {{"threads", kernel.threads}};
  }
};

}  // namespace

const Family* scale_family() {
  static const Scale family;
  return &family;
}

}  // namespace heddle
