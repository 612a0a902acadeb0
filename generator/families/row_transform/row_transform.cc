// Norms, activations and gates of rows, and their rounding to 8 bits.
#include "generator/operations/row_transform/row_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "generator/families/all.h"
#include "generator/families/blocks_that_fit.h"
#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/fields_json.h"
#include "generator/families/row_transform/config.h"
#include "generator/families/value_type.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::RowTransformConfig;

// Resident blocks per SM: the least limit of all architectures.
constexpr int kMostBlocks = 16;

std::vector<Problem> problems_of(const RowTransformSpec& spec, const Target& target) {
  std::vector<Problem> problems;
  if (!has_tensor_cores(target)) {
    problems.push_back({"", fmt::format("no kernel serves target {}", target.name),
                        fmt::format("sm_{}", target.arch()), "sm_75 and up", ""});
  } else if (spec.input == DType::kBf16 && !has_bf16(target)) {
    problems.push_back(
        {"/input/dtype",
         fmt::format("{} (sm_{}) has no bfloat16 arithmetic", target.name, target.arch()),
         "\"bf16\"", "\"fp16\"", ""});
  }
  return problems;
}

std::string work_name(const RowTransformSpec& spec) {
  if (spec.norm.type != NormType::kNone) {
    std::string name(to_string(spec.norm.type));
    if (spec.residual) name += "_residual";
    if (spec.norm.weight_offset != 0) name += "_offset";
    return spec.norm.bias ? name + "_bias" : name;
  }
  if (spec.gate.order == GateOrder::kNone && spec.gate.activation == Activation::kNone) {
    return "quantize";
  }
  std::string name(to_string(spec.gate.activation));
  if (spec.gate.order != GateOrder::kNone) name += '_' + std::string(to_string(spec.gate.order));
  return name;
}

// "" for 16 bits.
std::string output_name(const RowOutputSpec& output) {
  if (!output.is_quantized()) return "";
  std::string name = fmt::format("_{}_{}", to_string(output.dtype), to_string(output.granularity));
  if (!output.symmetric) name += "_zeros";
  if (output.scale_dtype != RowScaleDtype::kFp32) {
    name += '_' + std::string(to_string(output.scale_dtype));
  }
  if (output.scale_layout != ScaleLayout::kRowMajor) name += "_columns";
  return output.pre_scale ? name + "_scaled" : name;
}

PlannedKernel planned(const Target& target, const MRange& m, const RowTransformConfig& config) {
  PlannedKernel kernel;
  kernel.size_min = m.min;
  kernel.size_max = m.max;
  kernel.family = row_transform_family();
  kernel.configuration = make_configuration(config);
  kernel.threads = config.threads();
  kernel.shared_bytes = config.shared_bytes();
  const int by_registers =
      target.registers_per_sm / (registers_of(config, target) * kernel.threads);
  kernel.blocks_per_sm = blocks_that_fit(target, kernel.threads, kernel.shared_bytes,
                                         std::min(kMostBlocks, by_registers));
  kernel.starts_early = config.dependent;
  kernel.arguments = {KernelArgument::kParameters};
  return kernel;
}

// The most rows of which the kernel for many leaves SMs without a block.
std::int64_t few_rows(const RowTransformConfig& many, const Target& target) {
  return std::int64_t{target.sm_count} / many.parts * many.rows;
}

std::string row_reason(const RowTransformConfig& config) {
  const bool row = config.takes_rows();
  std::string text =
      fmt::format("{} threads take {} of {} columns, {} elements at a time each", config.lanes,
                  row || config.parts == 1 ? "a row" : "a part of a row", config.columns,
                  config.vectors * device::kVectorElements);
  if (!row) return text;
  if (!config.in_registers) {
    return text + ": more than a thread block can hold, so it is read a second time";
  }
  if (config.norm == NormType::kNone) return text + "; the row stays in registers";
  return text + (config.holds_weights ? "; the row and the weights stay in registers"
                                      : "; the row stays in registers, weights are read again");
}

bool same(const RowTransformConfig& a, const RowTransformConfig& b) {
  return a.lanes == b.lanes && a.rows == b.rows && a.vectors == b.vectors && a.parts == b.parts;
}

// The kernels for few rows and for many, and the most rows that are few; 0 where one serves all.
struct Choice {
  RowTransformConfig few, many;
  std::int64_t last_few;

  Choice(const RowTransformSpec& spec, const Target& target)
      : few(few_rows_config(spec, target)),
        many(many_rows_config(spec, target)),
        last_few(same(few, many) ? 0 : few_rows(many, target)) {}
};

class RowTransform final : public Family {
 public:
  std::string_view name() const noexcept override { return "row_transform"; }

  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& /*m*/) const override {
    return problems_of(spec.row_transform(), target);
  }

  std::vector<std::int64_t> steps(const Plan& plan, const MRange& m) const override {
    const std::int64_t last_few = choice_of(plan).last_few;
    if (last_few < m.min || last_few >= m.max) return {m.max};
    return {last_few, m.max};
  }

  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& m) const override {
    const Choice choice = choice_of(plan);
    return {planned(plan.target, m, m.max <= choice.last_few ? choice.few : choice.many)};
  }
  std::int64_t least_size(const Plan& plan, const PlannedKernel& kernel) const override {
    const std::int64_t last_few = choice_of(plan).last_few;
    return kernel.size_max <= last_few ? 0 : last_few + 1;
  }

  std::string kernel_name(const Plan& plan, const PlannedKernel& kernel) const override {
    const RowTransformSpec& spec = plan.spec.row_transform();
    const bool is_few = kernel.size_max <= choice_of(plan).last_few;
    return fmt::format("heddle_row_{}_{}{}_n{}_{}", work_name(spec), to_string(spec.input),
                       output_name(spec.output), spec.shape.columns, is_few ? "few" : "many");
  }

  std::vector<std::string> reasons(const Plan& plan) const override {
    const std::int64_t last_few = choice_of(plan).last_few;
    std::vector<std::string> reasons;
    for (const PlannedKernel& kernel : plan.kernels) {
      const std::string rows = last_few == 0 ? "of any number of rows"
                               : kernel.size_max > last_few
                                   ? "of more rows"
                                   : fmt::format("up to {} rows", last_few);
      reasons.push_back(
          fmt::format("{}: {}", rows, row_reason(config_of<RowTransformConfig>(kernel))));
    }
    return reasons;
  }

  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const RowTransformSpec& spec = plan.spec.row_transform();
    KernelText text;
    text.template_path = "row_transform/row_transform.cuh";
    text.decisions = describe(kernel) + '\n';
    text.definitions =
        families::config_struct("RowTransformConfig", config_of<RowTransformConfig>(kernel),
                                {"using Value = " + value_type(spec.input) + ';'});
    text.function = "row_transform<heddle::Config>";
    text.parameter_type = "RowTransformParameters";
    return text;
  }

  // Launches as many thread blocks as the GPU holds at a time, or as there is work for. Among those
  // it takes the fewest with which the number of rounds stays the same.
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override {
    const auto& config = config_of<RowTransformConfig>(kernel);
    const std::int64_t groups = device::ceil_div(size.size, config.rows);
    const std::int64_t blocks = std::int64_t{plan.target.sm_count} * kernel.blocks_per_sm;
    const std::int64_t most = std::max(std::int64_t{1}, blocks / config.parts);
    const std::int64_t rounds = device::ceil_div(groups, most);
    KernelLaunch launch;
    launch.grid_x = static_cast<unsigned>(device::ceil_div(groups, rounds));
    launch.grid_y = static_cast<unsigned>(config.parts);
    return launch;
  }

  // Blocks take rows in rounds, as many as there are.
  std::int64_t most_size(const Plan& plan, const PlannedKernel& kernel) const noexcept override {
    return std::max(kernel.size_max, plan.spec.row_transform().shape.m_max);
  }

  std::string describe(const PlannedKernel& kernel) const override {
    const auto& config = config_of<RowTransformConfig>(kernel);
    return fmt::format("{} row{} of {} threads, {} elements a thread", config.rows,
                       config.rows == 1 ? "" : "s", config.lanes,
                       config.vectors * device::kVectorElements);
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    const auto& config = config_of<RowTransformConfig>(kernel);
    return fmt::format("{}x{}x{}", config.rows, config.lanes,
                       config.vectors * device::kVectorElements);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<RowTransformConfig>(kernel));
  }

 private:
  static Choice choice_of(const Plan& plan) {
    return Choice(plan.spec.row_transform(), plan.target);
  }
};

}  // namespace

const Family* row_transform_family() {
  static const RowTransform family;
  return &family;
}

}  // namespace heddle
