// What the families that serve a layer of experts have in common.
#ifndef HEDDLE_GENERATOR_FAMILIES_EXPERTS_EXPERTS_FAMILY_H_
#define HEDDLE_GENERATOR_FAMILIES_EXPERTS_EXPERTS_FAMILY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experts/config.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/products.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/fields_json.h"
#include "generator/families/scale_mode.h"
#include "generator/families/value_type.h"
#include "generator/target/capabilities.h"

namespace heddle {

class ExpertsFamily : public Family {
 public:
  // Precondition: a kernel of the family.
  virtual const device::ExpertLayer& layer(const PlannedKernel& kernel) const noexcept = 0;
  // What the kernel's name says behind the layer.
  virtual std::string_view name_suffix() const noexcept { return {}; }

  void prepare(Plan& plan) const override;
  std::vector<std::int64_t> steps(const Plan& plan, const MRange& tokens) const override;
  std::string kernel_name(const Plan& plan, const PlannedKernel& kernel) const override;
  std::vector<Problem> refusals(const Plan& plan, const MRange& tokens) const override;
  std::vector<std::string> common_reasons(const Plan& plan) const override;
  std::vector<std::string> reasons(const Plan& plan) const override;  // the launches
  std::int64_t most_size(const Plan& plan, const PlannedKernel& kernel) const noexcept override {
    return std::max(kernel.size_max, plan.spec.moe().shape.tokens_max);
  }
  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t tokens) const noexcept override {
    return static_cast<std::size_t>(layer(kernel).workspace_bytes(tokens));
  }
};

// The text of a kernel whose entry is named as its family, without its template. `decodes`: of
// gate_up, then of down; `configurations`: the structs Config, GateUp and Down.
KernelText layer_text(const Family& family, const PlannedKernel& kernel,
                      const std::vector<DecodePlan>& decodes, const std::string& configurations);

// Config: the family's, with members `layer`, `gate_up` and `down`; kPath: of the GEMMs that the
// products are.
template <class Config, Path kPath>
class ExpertsFamilyOf : public ExpertsFamily {
 public:
  // Sets the powers of two of both products' scaling, which follow from their decode plans.
  void complete(const Plan& plan, PlannedKernel& candidate) const override {
    Config config = config_of<Config>(candidate);
    const ExpertGemms expert = gemms_of_expert(plan, kPath);
    config.gate_up.scaling = scaling_of(expert.gate_up.request(), config.gate_up.scaling.mode);
    config.down.scaling = scaling_of(expert.down.request(), config.down.scaling.mode);
    candidate.configuration = make_configuration(config);
  }
  // Of gate_up, then of down.
  std::vector<DecodePlan> decode_plans(const Plan& plan,
                                       const PlannedKernel& kernel) const override {
    const auto& config = config_of<Config>(kernel);
    const ExpertGemms expert = gemms_of_expert(plan, kPath);
    return {decode_plan_of(expert.gate_up.request(), config.gate_up.scaling.mode),
            decode_plan_of(expert.down.request(), config.down.scaling.mode)};
  }
  const device::ExpertLayer& layer(const PlannedKernel& kernel) const noexcept override {
    return config_of<Config>(kernel).layer;
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<Config>(kernel));
  }
  KernelText text(const Plan& plan, const PlannedKernel& kernel) const override {
    const auto& config = config_of<Config>(kernel);
    const ExpertGemms expert = gemms_of_expert(plan, kPath);
    const std::string value = "using Value = " + value_type(plan.spec.moe().activation) + ';';
    KernelText text =
        layer_text(*this, kernel, decode_plans(plan, kernel),
                   families::config_struct(config_name(), config, {value}) +
                       product_text("GateUp", "gate_up", expert.gate_up.spec, config.gate_up) +
                       product_text("Down", "down", expert.down.spec, config.down));
    text.template_path = template_path();
    return text;
  }

 private:
  using Product = decltype(Config::gate_up);

  // The name of Config, and the template with the entry.
  virtual std::string_view config_name() const noexcept = 0;
  virtual std::string_view template_path() const noexcept = 0;
  // A product's configuration, member `member` of the kernel's, as that of a GEMM: a struct and the
  // classes that its kernel names.
  virtual std::string product_text(const char* name, const char* member, const GemmSpec& spec,
                                   const Product& config) const = 0;
};

// A kernel with this configuration, as all families of experts launch theirs; Config has threads()
// and shared_bytes().
template <class Config>
PlannedKernel expert_kernel(const Family& family, const Target& target, const MRange& tokens,
                            const Config& config, int phases) {
  PlannedKernel kernel;
  kernel.family = &family;
  kernel.size_min = tokens.min;
  kernel.size_max = tokens.max;
  kernel.configuration = make_configuration(config);
  kernel.threads = config.threads();
  kernel.shared_bytes = config.shared_bytes();
  kernel.phases = phases;
  kernel.starts_early = has_dependent_launch(target);
  kernel.arguments = {KernelArgument::kParameters, KernelArgument::kSchedule};
  return kernel;
}

// Family::arithmetic() of a layer: of its two products, and the order in which a token's experts
// are added. A row of a product is a column of its own, whichever rows its expert has besides.
std::string experts_arithmetic(const std::string& gate_up, const std::string& down,
                               std::string_view order_of_experts);
inline constexpr std::string_view kChoicesInOrder = "a token's choices in their order";

// How a layer's experts are chosen, all 0 where a launch is told.
device::RouterConfig router_config(const MoeSpec& moe);
// The layer of a plan, for tiles of so many rows; `gathers`: kRoute copies the rows' tokens, as it
// does where their columns have another order.
device::ExpertLayer expert_layer(const Plan& plan, int tile_rows, bool gathers);

class GemmFamily;

// Why a family of GEMMs cannot serve one of the products, as problems of the moe.
std::vector<Problem> product_exclusions(const GemmFamily& gemms, const Spec& spec,
                                        const Target& target, Path path, const MRange& rows);

// Of a family whose products read tokens where they are.
void refuse_act_order(const MoeSpec& moe, std::vector<Problem>& problems);

// What the launch of a product depends on.
struct ProductLaunch {
  std::int64_t row_sets;  // tiles that hold all rows of an expert's weights
  int shared_bytes;
};
// The launch of a phase, which the kernel is told by `schedule`. Allocates nothing.
KernelLaunch expert_launch(const Plan& plan, const PlannedKernel& kernel,
                           const device::ExpertLayer& layer, device::MoePhase phase,
                           const ProductLaunch& gate_up, const ProductLaunch& down,
                           const LaunchSize& size) noexcept;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_EXPERTS_EXPERTS_FAMILY_H_
