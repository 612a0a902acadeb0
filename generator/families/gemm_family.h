// GemmFamily: a family whose kernels multiply tokens by packed weights. The planner asks each for
// its candidates and for the time of one, and takes the fastest.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMM_FAMILY_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMM_FAMILY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/costs.h"
#include "generator/families/family.h"
#include "generator/families/gemm_request.h"
#include "heddle/error.h"

namespace heddle {

// Every plan is one of a gemm whose spec, target, decode and layout are set; a request is that of
// such a plan, or of another operation that multiplies tokens by packed weights.
class GemmFamily : public Family {
 public:
  // Whether it has kernels for X of eight bits, and of 16, and is asked about such specs.
  virtual bool multiplies_bytes() const noexcept { return false; }
  virtual bool multiplies_halves() const noexcept { return true; }

  // Why it serves no such spec on this target, or none of these M, whatever its tiles are: each
  // field at fault with what the family takes instead, and without a field what the target lacks.
  // Messages call the family "it". It speaks for itself alone: the planner joins what all families
  // say.
  virtual std::vector<Problem> exclusions(const GemmSpec& spec, const Target& target,
                                          const MRange& m) const = 0;

  // Whether a tile that a spec sets without a path is this family's wherever it serves the spec: no
  // other family is asked then.
  virtual bool owns_tiles_without_path() const noexcept { return false; }

  // Kernels that serve every M of the range, each of which can be built and differs from the
  // others. They have the tile and the path that the spec asks for, as far as it does. They lack a
  // name, and what complete_for() adds. Precondition: there are no exclusions().
  virtual std::vector<PlannedKernel> candidates_for(const GemmRequest& gemm,
                                                    const MRange& m) const = 0;

  // Sets the powers of two of the candidate's scaling. They follow from a decode plan, which is
  // derived for the few that are chosen.
  virtual void complete_for(const GemmRequest& gemm, PlannedKernel& candidate) const = 0;

  // Why none of its tiles can be built: each field at fault with what the family allows. Empty
  // where it leaves these M to any kernel. Precondition: neither exclusions() nor candidates.
  virtual std::vector<Problem> refusals_for(const GemmRequest& gemm, const MRange& m) const = 0;

  virtual const std::vector<CostParameter>& cost_parameters() const noexcept = 0;
  // Changes when a parameter comes, goes or gets another meaning, and when the family's kernels
  // become faster or slower: values that were measured of another version are not used.
  virtual int cost_version() const noexcept { return 1; }

  // Predicted microseconds of a launch with m tokens. Precondition: one of the candidates, m in its
  // range or below; as many costs as there are parameters.
  virtual double predicted_us_for(const GemmRequest& gemm, const PlannedKernel& kernel,
                                  std::int64_t m, Costs costs) const = 0;

  // The path that the kernel is of; never kAuto.
  virtual Path path(const PlannedKernel& kernel) const noexcept = 0;

  // What the kernel's name says in place of N, K and the range of M, if its text depends on none of
  // these and one kernel serves many of them. Empty: the text depends on them.
  virtual std::string name_of_any_shape(const PlannedKernel& /*kernel*/) const { return {}; }

  // What tells the kernel from all other candidates for the same plan and range: short, in words
  // that stay the same as long as the family's version does. Tuned tables hold it.
  virtual std::string label(const PlannedKernel& kernel) const = 0;
  // Changes with the meaning of labels, and when a family's kernels become faster or slower.
  virtual int version() const noexcept { return 1; }

  // The same of a gemm's plan.
  std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& m) const {
    return candidates_for(gemm_request(plan), m);
  }
  void complete(const Plan& plan, PlannedKernel& candidate) const {
    complete_for(gemm_request(plan), candidate);
  }
  std::vector<Problem> refusals(const Plan& plan, const MRange& m) const {
    return refusals_for(gemm_request(plan), m);
  }
  double predicted_us(const Plan& plan, const PlannedKernel& kernel, std::int64_t m,
                      Costs costs) const {
    return predicted_us_for(gemm_request(plan), kernel, m, costs);
  }
};

// Whether the family is asked about the spec.
inline bool has_operands_of(const GemmFamily& family, const GemmSpec& spec) {
  return spec.has_byte_activations() ? family.multiplies_bytes() : family.multiplies_halves();
}

// Precondition: the kernel is one of a gemm's.
inline const GemmFamily& gemm_family_of(const PlannedKernel& kernel) {
  return dynamic_cast<const GemmFamily&>(*kernel.family);
}

// The kernel's path. Precondition: as gemm_family_of().
inline Path path_of(const PlannedKernel& kernel) { return gemm_family_of(kernel).path(kernel); }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMM_FAMILY_H_
