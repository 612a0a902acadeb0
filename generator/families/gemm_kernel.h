// What the GEMM families share besides their configuration structs.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMM_KERNEL_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMM_KERNEL_H_

#include <string>
#include <string_view>

#include "generator/families/configuration.h"
#include "generator/families/fields_json.h"
#include "generator/families/gemm_family.h"
#include "generator/families/scale_mode.h"

namespace heddle {

// What is the same for all GEMM families; `Config` is the struct of one, which has a
// device::Scaling named `scaling`.
template <class Config>
class GemmFamilyOf : public GemmFamily {
 public:
  void complete_for(const GemmRequest& gemm, PlannedKernel& candidate) const override {
    Config config = config_of<Config>(candidate);
    config.scaling = scaling_of(gemm, config.scaling.mode);
    candidate.configuration = make_configuration(config);
  }
  DecodePlan decode_plan(const Plan& plan, const PlannedKernel& kernel) const override {
    return decode_plan_of(gemm_request(plan), config_of<Config>(kernel).scaling.mode);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<Config>(kernel));
  }
};

// A candidate for these M with the configuration's launch bounds.
template <class Config>
PlannedKernel gemm_candidate(const Family& family, const MRange& m, const Config& config) {
  PlannedKernel kernel;
  kernel.size_min = m.min;
  kernel.size_max = m.max;
  kernel.family = &family;
  kernel.configuration = make_configuration(config);
  kernel.threads = config.threads();
  kernel.shared_bytes = config.shared_bytes();
  return kernel;
}

// The text of a GEMM's kernel. `config`: its rendered struct; `function`: the template's.
KernelText gemm_text(const Plan& plan, const PlannedKernel& kernel, std::string_view template_path,
                     const std::string& config, std::string_view function);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMM_KERNEL_H_
