// Family: one way to do an operation on a GPU. Planner, renderer, runtime, JSON and text know
// families only through this interface; registry.h lists them.
//
// A family is a folder here and one of the same name in templates/, which holds its entry template
// and config.h, the struct of its configuration (fields.h says what such a struct is). It must say
// its name, its candidates, their entry points' names, their text, their launch, and how people
// read them; everything else has a default.
//
// The order of calls in resolve() (generator/planner/resolve.cc):
//
//  1. May it serve?   target_problems*, then of each family takes_operands_of, exclusions, owns
//                     (none serves: operand_problems*)
//  2. Facts           prepare*; cost_parameters and cost_version, against a tuned table's
//  3. Steps           steps of each family
//  4. Each step       candidates and their predicted_us (none: refusals)
//  5. Ranges          path, least_size and, of a batch-invariant spec, arithmetic; then
//                     predicted_us of a kernel that serves further steps.
//                     A tuned table replaces 4 and 5 for its steps: version, and label of each
//  6. Each kernel     kernel_name, complete
//  7. Kernels before  of families_before(): candidates, kernel_name, complete
//  8. Reasons         common_reasons*, reasons
//
// * asked of the operation's first family only, for all of them.
//
// Of a plan that is there: text by the renderer; launch, the three of the workspace, size_step and
// most_size by the runtime; decode_plan, describe, tile_text and json by what people read.
#ifndef HEDDLE_GENERATOR_FAMILIES_FAMILY_H_
#define HEDDLE_GENERATOR_FAMILIES_FAMILY_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/decode/decode_plan.h"
#include "generator/families/costs.h"
#include "generator/operations/kernel_argument.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// What a kernel's source has besides the banner, the templates and the entry point's name.
struct KernelText {
  std::string_view template_path;   // that defines `function`
  std::string decisions;            // for the banner, some lines
  std::string definitions;          // Config, and Decode or what else the template takes
  std::string function;             // "gather<heddle::Config>"; takes the kernel's arguments
  std::string_view parameter_type;  // of KernelArgument::kParameters, if it has that
};

// Stateless; any thread may call any function. Sizes are those of PlannedKernel::size_min. Problems
// and sentences call the family "it", and speak of it alone: the planner joins what all families
// say.
class Family {
 public:
  virtual ~Family() = default;

  // Also the name of its folders.
  virtual std::string_view name() const noexcept = 0;

  // 1. May it serve the spec on this target?

  // Whether it is asked about the spec at all, or is made for operands of another kind: then
  // other_operands() says which.
  virtual bool takes_operands_of(const Spec& /*spec*/) const { return true; }
  virtual std::string other_operands() const { return {}; }

  // Why it serves no such spec on this target, or none of these sizes, whatever its kernels are:
  // each field at fault with what the family takes instead, and without a field what the target
  // lacks. Of a spec that makes no sense (check_meaning()) it says at least what the target lacks.
  virtual std::vector<Problem> exclusions(const Spec& /*spec*/, const Target& /*target*/,
                                          const MRange& /*sizes*/) const {
    return {};
  }

  // Whether no other family is asked where this one serves the spec.
  virtual bool owns(const Spec& /*spec*/) const { return false; }

  // What is the same for all families of an operation, whose first one is asked: what the target
  // lacks for every kernel; what the user may change of operands that no family takes, whatever the
  // path; decode and layout of a plan whose spec and target are set and can be served; and
  // sentences on all kernels of the plan.
  virtual std::vector<Problem> target_problems(const Spec& /*spec*/,
                                               const Target& /*target*/) const {
    return {};
  }
  virtual std::vector<Problem> operand_problems(const Spec& /*spec*/,
                                                const Target& /*target*/) const {
    return {};
  }
  virtual void prepare(Plan& /*plan*/) const {}
  virtual std::vector<std::string> common_reasons(const Plan& /*plan*/) const { return {}; }

  // 2. What predicted times are made of. Empty where the family has one kernel for a size, whose
  // time nobody asks for.
  virtual const std::vector<CostParameter>& cost_parameters() const noexcept;
  // Changes when a parameter comes, goes or gets another meaning, and when the family's kernels
  // become faster or slower: values that were measured of another version are not used.
  virtual int cost_version() const noexcept { return 1; }

  // 3. The sizes, ascending, that end a step: where launches change their form, or other kernels
  // may be faster. Between two of them one kernel serves. From here on the plan's spec, target,
  // decode and layout are set.
  virtual std::vector<std::int64_t> steps(const Plan& plan, const MRange& sizes) const;

  // 4. Kernels that serve every size of the range, each of which can be built and differs from the
  // others. They lack a name, and what complete() adds. A family whose kernels run before the
  // operation's (operation_list.h) has one, or none where the spec has no need of it. Precondition:
  // there are no exclusions().
  virtual std::vector<PlannedKernel> candidates(const Plan& plan, const MRange& sizes) const = 0;

  // Predicted microseconds of a launch. Precondition: one of candidates(), the size in its range or
  // below; as many costs as there are parameters.
  virtual double predicted_us(const Plan& /*plan*/, const PlannedKernel& /*kernel*/,
                              const LaunchSize& /*size*/, Costs /*costs*/) const {
    return 1;
  }

  // Why none of its kernels can be built: each field at fault with what the family allows. Empty
  // where it leaves these sizes to any kernel. Precondition: neither exclusions() nor candidates().
  virtual std::vector<Problem> refusals(const Plan& /*plan*/, const MRange& /*sizes*/) const {
    return {};
  }

  // 5. The path that the kernel is of; kAuto where its operation has none.
  virtual Path path(const PlannedKernel& /*kernel*/) const noexcept { return Path::kAuto; }

  // The smallest size that a candidate may be chosen for: smaller ones have kernels of their own.
  virtual std::int64_t least_size(const Plan& /*plan*/, const PlannedKernel& /*kernel*/) const {
    return 0;
  }

  // How the kernel adds and scales, in words: where it applies scales, which instruction it has,
  // and the order of all sums. Kernels with the same text give a token of the plan the same bits of
  // Y, whichever of them runs and whatever else is launched with it. Nothing where the kernel's
  // bits may depend on the number of tokens, or on other tokens.
  virtual std::optional<std::string> arithmetic(const Plan& /*plan*/,
                                                const PlannedKernel& /*kernel*/) const {
    return std::nullopt;
  }

  // What tells the kernel from all other candidates for the same plan and range: short, in words
  // that stay the same as long as the family's version does. Tuned tables hold it.
  virtual std::string label(const PlannedKernel& kernel) const { return tile_text(kernel); }
  // Changes with the meaning of labels, and when a family's kernels become faster or slower.
  virtual int version() const noexcept { return 1; }

  // 6. The entry point's name; it may say which sizes the kernel serves.
  virtual std::string kernel_name(const Plan& plan, const PlannedKernel& kernel) const = 0;

  // Adds to a candidate what its time does not depend on. `plan.kernels`: all of the plan; it is
  // one of them, or stands in for one.
  virtual void complete(const Plan& /*plan*/, PlannedKernel& /*candidate*/) const {}

  // 8. Sentences on the plan's kernels of this family.
  virtual std::vector<std::string> reasons(const Plan& /*plan*/) const { return {}; }

  // The renderer.

  virtual KernelText text(const Plan& plan, const PlannedKernel& kernel) const = 0;

  // The runtime. None of these allocates, but for the first call of a process.

  // Precondition: the kernel serves `size`.
  virtual KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                              const LaunchSize& size) const noexcept = 0;

  // Bytes of workspace that a launch with this size needs, unless a family says otherwise those of
  // its counters and sums. 0 where none is needed, and where max_workspace_bytes() are, whatever
  // the size.
  virtual std::size_t workspace_bytes(const Plan& plan, const PlannedKernel& kernel,
                                      std::int64_t size) const noexcept;
  // The most that a launch needs, of all sizes that the kernel serves.
  virtual std::size_t max_workspace_bytes(const Plan& plan,
                                          const PlannedKernel& kernel) const noexcept;
  // Bytes at the start of the workspace that belong to counters and partial sums at this size; the
  // gathered X is placed behind them.
  virtual std::size_t reserved_workspace_bytes(const Plan& plan, const PlannedKernel& kernel,
                                               std::int64_t size) const noexcept;

  // Launches whose ceil(size / step) is equal are alike; 0: they depend on more than the size.
  virtual std::int64_t size_step(const PlannedKernel& kernel) const noexcept;

  // The largest size that the kernel's code computes right, whatever range it was chosen for; it
  // serves every size below, too. size_max where a family does not say more.
  virtual std::int64_t most_size(const Plan& plan, const PlannedKernel& kernel) const noexcept;

  // People.

  // The plan that the kernel decodes by: plan.decode or a variation of it.
  virtual DecodePlan decode_plan(const Plan& plan, const PlannedKernel& kernel) const;
  // All that it decodes by, where its weights are several.
  virtual std::vector<DecodePlan> decode_plans(const Plan& plan,
                                               const PlannedKernel& kernel) const {
    return {decode_plan(plan, kernel)};
  }

  // One line, without the kernel's name and what every kernel has.
  virtual std::string describe(const PlannedKernel& kernel) const = 0;
  // A few characters for tables: "16x128x256 s4".
  virtual std::string tile_text(const PlannedKernel& kernel) const = 0;
  // The configuration, field by field.
  virtual nlohmann::ordered_json json(const PlannedKernel& kernel) const = 0;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_FAMILY_H_
