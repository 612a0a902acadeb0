// What the families that serve a layer of experts have in common.
#ifndef HEDDLE_GENERATOR_FAMILIES_EXPERTS_EXPERTS_FAMILY_H_
#define HEDDLE_GENERATOR_FAMILIES_EXPERTS_EXPERTS_FAMILY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experts/config.h"
#include "generator/families/configuration.h"
#include "generator/families/experts/products.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "generator/families/fields_json.h"

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
  std::int64_t most_size(const Plan& plan, const PlannedKernel& kernel) const noexcept override {
    return std::max(kernel.size_max, plan.spec.moe().shape.tokens_max);
  }
  std::size_t reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& kernel,
                                       std::int64_t tokens) const noexcept override {
    return static_cast<std::size_t>(layer(kernel).workspace_bytes(tokens));
  }
};

// Config: the family's, with a member `layer`.
template <class Config>
class ExpertsFamilyOf : public ExpertsFamily {
 public:
  const device::ExpertLayer& layer(const PlannedKernel& kernel) const noexcept override {
    return config_of<Config>(kernel).layer;
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return families::fields_json(config_of<Config>(kernel));
  }
};

// The layer of a plan.
device::ExpertLayer expert_layer(const Plan& plan, int tile_rows, bool gathers);

// Why a family of GEMMs serves one of the products not, as problems of the moe.
class GemmFamily;
std::vector<Problem> product_exclusions(const GemmFamily& gemms, const Spec& spec,
                                        const Target& target, Path path, const MRange& rows);

// The launches of a product.
struct ProductLaunch {
  std::int64_t row_sets;  // tiles that hold all rows of an expert's weights
  int shared_bytes;
};
// The launch of a phase, which the kernel is told by `schedule`. Allocates nothing.
KernelLaunch expert_launch(const Plan& plan, const PlannedKernel& kernel,
                           const device::ExpertLayer& layer, const ProductLaunch& gate_up,
                           const ProductLaunch& down, std::int64_t tokens,
                           device::MoePhase phase) noexcept;

// A decode plan as a struct in a namespace: `config` is the one whose values it decodes to.
std::string decode_in(const char* space, const DecodePlan& decode, const char* config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_EXPERTS_EXPERTS_FAMILY_H_
