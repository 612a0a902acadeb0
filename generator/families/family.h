// Family: one way to do an operation on a GPU. Planner, renderer, runtime, JSON and text know
// families only through this interface; registry.h lists them.
//
// A family is a folder here and one of the same name in templates/, which holds its entry template
// and config.h, the struct of its configuration (fields.h says what such a struct is).
#ifndef HEDDLE_GENERATOR_FAMILIES_FAMILY_H_
#define HEDDLE_GENERATOR_FAMILIES_FAMILY_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

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

// Stateless; any thread may call any function.
class Family {
 public:
  virtual ~Family() = default;

  // Also the name of its folders.
  virtual std::string_view name() const noexcept = 0;

  // For a family that is the only one of its operation; among several the planner chooses. Fills a
  // plan whose spec and target are set: decode, layout, kernels and reasons. Throws
  // Error(kUnsupported) with every reason why it cannot.
  virtual void plan(Plan& plan) const;

  virtual KernelText text(const Plan& plan, const PlannedKernel& kernel) const = 0;

  // Precondition: the kernel serves `size`. Allocates nothing.
  virtual KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                              const LaunchSize& size) const noexcept = 0;

  // The largest size that the kernel's code computes right, whatever range it was chosen for; it
  // serves every size below, too. size_max where a family does not say more.
  virtual std::int64_t most_size(const Plan& plan, const PlannedKernel& kernel) const noexcept;

  // Launches whose ceil(size / step) is equal are alike; 0: they depend on more than the size.
  virtual std::int64_t size_step(const PlannedKernel& kernel) const noexcept;

  // None of the three allocates. Bytes of workspace that a launch with this size needs, 0 if none;
  // unless a family says otherwise, those of its counters and sums.
  virtual std::size_t workspace_bytes(const Plan& plan, const PlannedKernel& kernel,
                                      std::int64_t size) const noexcept;
  // The most that a launch needs, of all sizes that the kernel serves.
  virtual std::size_t max_workspace_bytes(const Plan& plan,
                                          const PlannedKernel& kernel) const noexcept;
  // Bytes at the start of the workspace that belong to counters and partial sums at this size; the
  // gathered X is placed behind them.
  virtual std::size_t reserved_workspace_bytes(const Plan& plan, const PlannedKernel& kernel,
                                               std::int64_t size) const noexcept;

  // The plan that the kernel decodes by: plan.decode or a variation of it.
  virtual DecodePlan decode_plan(const Plan& plan, const PlannedKernel& kernel) const;

  // One line for people, without the kernel's name and what every kernel has.
  virtual std::string describe(const PlannedKernel& kernel) const = 0;
  // A few characters for tables: "16x128x256 s4".
  virtual std::string tile_text(const PlannedKernel& kernel) const = 0;
  // The configuration, field by field.
  virtual nlohmann::ordered_json json(const PlannedKernel& kernel) const = 0;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_FAMILY_H_
