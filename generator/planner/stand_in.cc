#include "generator/planner/stand_in.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "generator/families/gemm_family.h"
#include "generator/families/tile_fields.h"
#include "generator/operations/operation.h"
#include "generator/planner/choose.h"
#include "generator/planner/one_arithmetic.h"

namespace heddle {
namespace {

// Tokens of the general kernel's tile. A tile of 128 takes the compiler nearly twice as long.
constexpr std::int64_t kGeneralTokens = 64;
constexpr std::int64_t kFewestTileTokens = 8;

// Whether the spec leaves it to the planner what its kernels are.
bool is_open(const Plan& plan) {
  const GemmSpec* gemm = plan.spec.get_if<GemmSpec>();
  return gemm == nullptr || (gemm->path == Path::kAuto && !sets_any(gemm->tile));
}

// The spec with the general kernel's tile. K is not split: its sums need no workspace, whatever M.
Spec with_general_tile(const Spec& spec) {
  GemmSpec gemm = spec.gemm();
  const std::int64_t tokens = std::clamp(gemm.shape.m_max, kFewestTileTokens, kGeneralTokens);
  gemm.tile.m = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(tokens)));
  gemm.tile.split_k = 1;
  return Spec::from_gemm(gemm, spec.name());
}

// Whether a token has the same bits by the kernel as by the plan's, where the spec wants that.
bool keeps_arithmetic(const Plan& plan, const Plan& general, const PlannedKernel& kernel) {
  return !is_batch_invariant(plan.spec) ||
         arithmetic_of(general, kernel) == arithmetic_of(plan, plan.kernels.front());
}

std::optional<Plan> general_plan(const Plan& plan) {
  if (plan.spec.get_if<GemmSpec>() == nullptr) return std::nullopt;
  Plan general = plan;
  general.spec = with_general_tile(plan.spec);
  general.kernels.clear();
  general.before.clear();
  general.reasons = {"serves every M until the kernel that is best for it is there"};
  for (const Candidate& one : all_candidates(general, sizes_of(general.spec))) {
    if (one.kernel.family->max_workspace_bytes(general, one.kernel) != 0) continue;
    if (!keeps_arithmetic(plan, general, one.kernel)) continue;
    std::string name = one.kernel.family->kernel_name(general, one.kernel);
    general.kernels.push_back(planned_kernel(general, one.kernel, std::move(name)));
    return general;
  }
  return std::nullopt;
}

class StandInMaker {
 public:
  StandInMaker(const Plan& plan, const std::vector<bool>& at_hand)
      : plan_(plan), at_hand_(at_hand), is_open_(is_open(plan)) {}

  StandIn make() {
    result_.plan = plan_;
    result_.plan.kernels.clear();
    for (std::size_t i = 0; i < plan_.kernels.size(); ++i) add(i, code_for(i));
    for (std::size_t i = plan_.kernels.size(); i < plan_.kernel_count(); ++i) {
      result_.code.push_back(i);
    }
    return std::move(result_);
  }

 private:
  // The kernel's range gets this code.
  void add(std::size_t index, std::size_t code) {
    const PlannedKernel& range = plan_.kernels[index];
    if (!result_.code.empty() && result_.code.back() == code) {
      result_.plan.kernels.back().size_max = range.size_max;
      return;
    }
    PlannedKernel kernel =
        code == kGeneralCode ? result_.general->kernels.front() : plan_.kernels[code];
    kernel.size_min = range.size_min;
    kernel.size_max = range.size_max;
    result_.plan.kernels.push_back(std::move(kernel));
    result_.code.push_back(code);
  }

  std::size_t code_for(std::size_t index) {
    if (at_hand_[index]) return index;
    for (std::size_t i = index + 1; i < plan_.kernels.size(); ++i) {
      if (at_hand_[i] && may_replace(i, index)) return i;
    }
    for (std::size_t i = index; i-- > 0;) {
      if (at_hand_[i] && may_replace(i, index) && reaches(i, plan_.kernels[index].size_max)) {
        return i;
      }
    }
    if (!is_open_) return index;
    if (!spare_) spare_ = spare_code();
    return *spare_;
  }

  // A path or a tile that the spec sets is honoured, also meanwhile.
  bool may_replace(std::size_t by, std::size_t index) const {
    return is_open_ || path_of(plan_.kernels[by]) == path_of(plan_.kernels[index]);
  }

  bool reaches(std::size_t index, std::int64_t size) const {
    const PlannedKernel& kernel = plan_.kernels[index];
    return kernel.family->most_size(plan_, kernel) >= size;
  }

  // For all ranges that no kernel at hand serves.
  std::size_t spare_code() {
    const std::int64_t most = plan_.kernels.back().size_max;
    for (std::size_t i = 0; i < plan_.kernels.size(); ++i) {
      const bool is_hopper = path_of(plan_.kernels[i]) == Path::kHopper;
      if (!is_hopper && reaches(i, most)) return i;
    }
    result_.general = general_plan(plan_);
    return result_.general ? kGeneralCode : plan_.kernels.size() - 1;
  }

  const Plan& plan_;
  const std::vector<bool>& at_hand_;
  const bool is_open_;
  StandIn result_;
  std::optional<std::size_t> spare_;
};

}  // namespace

std::vector<bool> kernels_for(const Plan& plan, const MRange& urgent) {
  std::vector<bool> needed(plan.kernel_count(), true);
  if (!plan.spec.has_m()) return needed;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlannedKernel& kernel = plan.kernels[i];
    needed[i] = kernel.size_min <= urgent.max && urgent.min <= kernel.size_max;
  }
  return needed;
}

StandIn stand_in(const Plan& plan, const std::vector<bool>& at_hand) {
  return StandInMaker(plan, at_hand).make();
}

std::optional<StandIn> add_stand_in(const Plan& plan, std::vector<bool>* at_hand) {
  if (std::find(at_hand->begin(), at_hand->end(), false) == at_hand->end()) return std::nullopt;
  StandIn made = stand_in(plan, *at_hand);
  for (const std::size_t code : made.code) {
    if (code != kGeneralCode) (*at_hand)[code] = true;
  }
  return made;
}

}  // namespace heddle
