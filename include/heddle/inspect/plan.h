// Plan: every decision that turns a Spec into kernels for a Target.
//
// resolve() is a pure function: no I/O, no CUDA, the same answer at warm-up and at run time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"
#include "heddle/inspect/decode_plan.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "heddle/tuned.h"
#include "heddle/weights.h"

namespace heddle {

class Family;               // generator/families/family.h
class ConfigurationValue;   // generator/families/configuration.h
enum class KernelArgument;  // generator/operations/kernel_argument.h
struct MeasuredCosts;       // generator/planner/measured_costs.h

// One compiled kernel.
struct PlannedKernel {
  std::string name;  // the entry point's name
  // The sizes that it serves, inclusive: M; of decode_attention the tokens of a sequence.
  std::int64_t size_min = 1;
  std::int64_t size_max = 1;
  const Family* family = nullptr;
  // The struct that its template is compiled with. Immutable; null in a default one.
  std::shared_ptr<const ConfigurationValue> configuration;
  int threads = 0;        // of a thread block
  int shared_bytes = 0;   // dynamic
  int blocks_per_sm = 1;  // what the register budget is set for
  int phases = 1;         // launches of it, one after the other: a moe has several
  // Uses programmatic dependent launch: it waits itself for the kernel before it in the stream.
  bool starts_early = false;
  // Tokens of a box of X's tensor map; with fits_box a launch of fewer has boxes of all of them.
  int box_tokens = 0;
  bool fits_box = false;
  bool takes(KernelArgument argument) const noexcept {
    return std::find(arguments.begin(), arguments.end(), argument) != arguments.end();
  }
  int tokens_of_box(std::int64_t m) const noexcept {
    return fits_box && m < box_tokens ? static_cast<int>(m) : box_tokens;
  }
  std::vector<KernelArgument> arguments;  // of the entry point, in their order
};

// What decides a launch's grid.
struct LaunchSize {
  std::int64_t size = 0;       // within PlannedKernel::size_min and size_max; kv_append: new tokens
  std::int64_t sequences = 0;  // kv_append, decode_attention
  bool has_offsets = false;    // kv_append: a sequence may have several new tokens
  int phase = 0;               // of a kernel with several launches: which of them
};

struct KernelLaunch {
  unsigned int grid_x = 1;
  unsigned int grid_y = 1;
  unsigned int grid_z = 1;
  unsigned int cluster = 1;  // thread blocks of a cluster, along x
  int schedule = 0;          // what the family's scheduler is told
  int shared_bytes = -1;     // dynamic; -1: PlannedKernel::shared_bytes
};

struct HEDDLE_EXPORT Plan {
  Spec spec;
  Target target;
  // Set for operations with weights. Without elements where no weight is decoded.
  SharedDecodePlan decode;
  WeightLayout layout;
  // Ascending, contiguous ranges of sizes, which cover shape.m where the operation has one.
  std::vector<PlannedKernel> kernels;
  // Kernels that run before that of every size: of a gemm with act-order the gather of X.
  std::vector<PlannedKernel> before;
  // What a tuned table says about the time of a gemm's kernels on this GPU. Null: nothing.
  std::shared_ptr<const MeasuredCosts> costs;
  std::vector<std::string> reasons;  // why each decision was made, for people

  // Kernels are counted through: first `kernels`, then `before`.
  std::size_t kernel_count() const noexcept { return kernels.size() + before.size(); }
  const PlannedKernel& kernel(std::size_t index) const noexcept {
    return index < kernels.size() ? kernels[index] : before[index - kernels.size()];
  }
  // Index of the kernel that serves a size. Precondition: one does.
  std::size_t kernel_for(std::int64_t size) const noexcept;
  // What a launch of kernel(index) is. Precondition: it serves the size.
  KernelLaunch launch(std::size_t index, const LaunchSize& size) const noexcept;
  // Bytes of workspace that a launch with M needs, and the most for any; 0 if none. See Kernel.
  std::size_t workspace_bytes(std::int64_t m) const noexcept;
  std::size_t max_workspace_bytes() const noexcept;
  // Where in it the gathered X begins. Precondition: a gemm with act-order.
  std::size_t gathered_offset(std::int64_t m) const noexcept;
};

// What the kernels decode by, each plan once; empty where they decode nothing.
HEDDLE_EXPORT std::vector<SharedDecodePlan> decode_plans_of(const Plan& plan);

// Throws Error(kUnsupported) with every reason why the target cannot serve the spec, and
// Error(kUsage, "target.invalid") for facts that no GPU has. An entry of a tuned table decides for
// its range of M if its version is this library's and the family has such a kernel for the spec;
// the plan's reasons tell. A spec that sets a tile, a path or batch_invariant is planned without
// entries.
HEDDLE_EXPORT Plan resolve(const Spec& spec, const Target& target,
                           const TunedTables& tables = TunedTables::shipped());

// Every decision in words, for people; the text is not a stable format.
HEDDLE_EXPORT std::string describe(const Plan& plan);
// Every decision as one JSON object; a stable format.
HEDDLE_EXPORT std::string plan_to_json(const Plan& plan);

// As the JSON has it: "weights", "workspace" ...
HEDDLE_EXPORT std::string_view to_string(KernelArgument argument) noexcept;

}  // namespace heddle
