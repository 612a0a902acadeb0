// GemmFamily: a family whose kernels multiply tokens by packed weights. It answers what the planner
// asks of a gemm's plan by what it says of the plan's GemmRequest.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMM_FAMILY_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMM_FAMILY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/families/costs.h"
#include "generator/families/family.h"
#include "generator/families/gemm_request.h"
#include "heddle/error.h"

namespace heddle {

// The functions that end with _for say of a request, also of one that is of another operation, what
// those of Family without it say of a plan. Sizes are numbers of tokens, M.
class GemmFamily : public Family {
 public:
  // Whether it has kernels for X of eight bits, and of 16, and is asked about such specs.
  virtual bool multiplies_bytes() const noexcept { return false; }
  virtual bool multiplies_halves() const noexcept { return true; }

  virtual std::vector<Problem> exclusions_for(const GemmSpec& spec, const Target& target,
                                              const MRange& m) const = 0;

  // Whether a tile that a spec sets without a path is this family's wherever it serves the spec.
  virtual bool owns_tiles_without_path() const noexcept { return false; }

  // Kernels that have the tile and the path that the spec asks for, as far as it does.
  virtual std::vector<PlannedKernel> candidates_for(const GemmRequest& gemm,
                                                    const MRange& m) const = 0;

  // Sets the powers of two of the candidate's scaling. They follow from a decode plan, which is
  // derived for the few that are chosen.
  virtual void complete_for(const GemmRequest& gemm, PlannedKernel& candidate) const = 0;

  virtual std::vector<Problem> refusals_for(const GemmRequest& gemm, const MRange& m) const = 0;

  virtual double predicted_us_for(const GemmRequest& gemm, const PlannedKernel& kernel,
                                  std::int64_t m, Costs costs) const = 0;

  virtual std::optional<std::string> arithmetic_for(const GemmRequest& gemm,
                                                    const PlannedKernel& kernel) const = 0;

  // What the kernel's name says in place of N, K and the range of M, if its text depends on none of
  // these and one kernel serves many of them. Empty: the text depends on them.
  virtual std::string name_of_any_shape(const PlannedKernel& /*kernel*/) const { return {}; }

  bool takes_operands_of(const Spec& spec) const override;
  std::string other_operands() const override;
  std::vector<Problem> exclusions(const Spec& spec, const Target& target,
                                  const MRange& m) const override {
    return exclusions_for(spec.gemm(), target, m);
  }
  bool owns(const Spec& spec) const override;
  std::vector<std::int64_t> steps(const Plan& plan, const MRange& m) const override;
  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& m) const override {
    return candidates_for(gemm_request(plan), m);
  }
  void complete(const Plan& plan, PlannedKernel& candidate) const override {
    complete_for(gemm_request(plan), candidate);
  }
  std::string kernel_name(const Plan& plan, const PlannedKernel& kernel) const override;
  std::vector<Problem> refusals(const Plan& plan, const MRange& m) const override {
    return refusals_for(gemm_request(plan), m);
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, const LaunchSize& size,
                      Costs costs) const override {
    return predicted_us_for(gemm_request(plan), kernel, size.size, costs);
  }
  std::optional<std::string> arithmetic(const Plan& plan,
                                        const PlannedKernel& kernel) const override {
    return arithmetic_for(gemm_request(plan), kernel);
  }
  std::vector<Problem> target_problems(const Spec& spec, const Target& target) const override;
  std::vector<Problem> operand_problems(const Spec& spec, const Target& target) const override;
  void prepare(Plan& plan) const override;
  std::vector<std::string> common_reasons(const Plan& plan) const override;
};

// Numbers of tokens that kernels of GEMMs are chosen for, ascending, the last is m_max.
std::vector<std::int64_t> token_steps(std::int64_t m_min, std::int64_t m_max);

// Precondition: the kernel is one of a gemm's.
inline const GemmFamily& gemm_family_of(const PlannedKernel& kernel) {
  return dynamic_cast<const GemmFamily&>(*kernel.family);
}

// The kernel's path.
inline Path path_of(const PlannedKernel& kernel) { return kernel.family->path(kernel); }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMM_FAMILY_H_
