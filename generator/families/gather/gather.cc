// The gather of X that a GEMM with act-order runs first.
#include <fmt/format.h>

#include "gather/config.h"
#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/fields_json.h"
#include "generator/families/gemm_request.h"
#include "generator/families/value_type.h"

namespace heddle {
namespace {

using device::GatherConfig;

constexpr int kThreads = 64;
constexpr int kColumnsOfThread = 8;
constexpr int kTileRows = 4;  // so that a block reads the permutation once for several tokens

class Gather final : public Family {
 public:
  std::string_view name() const noexcept override { return "gather"; }

  // X[M, permutation], times the factors of its columns if the spec has them.
  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& m) const override {
    const GemmSpec& spec = gemm_request(plan).spec;
    if (!spec.act_order) return {};
    PlannedKernel kernel;
    kernel.size_min = m.min;
    kernel.size_max = m.max;
    kernel.family = this;
    kernel.configuration = make_configuration(GatherConfig{
        static_cast<int>(spec.shape.k), kTileRows, kColumnsOfThread * kThreads, spec.pre_scale});
    kernel.threads = kThreads;
    kernel.arguments = {KernelArgument::kX, KernelArgument::kPermutation, KernelArgument::kPreScale,
                        KernelArgument::kGathered, KernelArgument::kM};
    return {kernel};
  }
  std::string kernel_name(const Plan& plan, const PlannedKernel& /*kernel*/) const override {
    const GemmSpec& spec = gemm_request(plan).spec;
    return fmt::format("heddle_gather_{}_k{}", to_string(spec.activation), spec.shape.k);
  }
  std::vector<std::string> reasons(const Plan& /*plan*/) const override {
    return {
        "act-order: a kernel before the GEMM puts the columns of X in the order of the packed "
        "weights; they are copied into shared memory 16 bytes at a time from there"};
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    KernelText text;
    text.template_path = "gather/gather.cuh";
    text.decisions = "the columns of X in the order of the packed weights: " + describe(kernel);
    text.definitions = families::config_struct(
        "GatherConfig", config_of<GatherConfig>(kernel),
        {"using Value = " + value_type(gemm_request(plan).spec.activation) + ';'});
    text.function = "gather<heddle::Config>";
    return text;
  }

  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& config = config_of<GatherConfig>(kernel);
    KernelLaunch launch;
    launch.grid_x = static_cast<unsigned>(device::ceil_div(size.size, config.tile_rows));
    launch.grid_y = static_cast<unsigned>(device::ceil_div(config.k, config.tile_columns));
    return launch;
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& config = config_of<GatherConfig>(kernel);
    return fmt::format("tiles of {} tokens x {} columns", config.tile_rows, config.tile_columns);
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& config = config_of<GatherConfig>(kernel);
    return fmt::format("{}x{}", config.tile_rows, config.tile_columns);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<GatherConfig>(kernel));
  }
};

}  // namespace

const Family* gather_family() {
  static const Gather family;
  return &family;
}

}  // namespace heddle
