// What the GEMM families share beside their configuration structs.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMM_KERNEL_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMM_KERNEL_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/families/configuration.h"
#include "generator/families/fields.h"
#include "generator/families/gemm_family.h"
#include "generator/families/gemm_variant.h"

namespace heddle {

// What the planner settled for a GEMM's kernel, whatever the struct of its family is.
class GemmChoice {
 public:
  explicit GemmChoice(GemmVariant variant) : variant_(std::move(variant)) {}
  virtual ~GemmChoice() = default;
  const GemmVariant& variant() const noexcept { return variant_; }

 private:
  GemmVariant variant_;
};

// The configuration of a GEMM's kernel: the family's struct beside the choice that it follows from.
template <class Config>
class GemmConfigurationOf final : public ConfigurationOf<Config>, public GemmChoice {
 public:
  GemmConfigurationOf(GemmVariant variant, const Config& config)
      : ConfigurationOf<Config>(config), GemmChoice(std::move(variant)) {}
};

// What is the same for all GEMM families; `Config` is the struct of one.
template <class Config>
class GemmFamilyOf : public GemmFamily {
 public:
  DecodePlan decode_plan(const Plan& plan, const PlannedKernel& kernel) const override {
    return decode_plan_of(plan, variant_of(kernel));
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<Config>(kernel));
  }

 protected:
  // The kernel with the planner's range and the configuration's launch bounds.
  PlannedKernel planned(const GemmVariant& variant, const Config& config,
                        std::vector<KernelArgument> arguments) const {
    PlannedKernel kernel;
    kernel.name = variant.name;
    kernel.size_min = variant.m_min;
    kernel.size_max = variant.m_max;
    kernel.family = this;
    kernel.configuration =
        Configuration(std::make_shared<GemmConfigurationOf<Config>>(variant, config));
    kernel.threads = config.threads();
    kernel.shared_bytes = config.shared_bytes();
    kernel.blocks_per_sm = variant.blocks_per_sm;
    kernel.arguments = std::move(arguments);
    return kernel;
  }
};

// The text of a GEMM's kernel. `config`: its rendered struct; `function`: the template's.
KernelText gemm_text(const Plan& plan, const PlannedKernel& kernel, std::string_view template_path,
                     const std::string& config, std::string_view function);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMM_KERNEL_H_
