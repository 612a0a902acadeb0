#include "generator/planner/tuned_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "generator/families/registry.h"
#include "generator/families/tile_fields.h"
#include "generator/operations/operation.h"
#include "generator/planner/measured_costs.h"

namespace heddle {
namespace {

// A kernel as it was chosen by itself.
struct Chosen {
  PlannedKernel kernel;
  bool of_table = false;
};

const GemmFamily* family_of(const TunedEntry& entry) {
  for (const GemmFamily* family : gemm_families()) {
    if (family->name() == entry.family) return family;
  }
  return nullptr;
}

class TunedChooser {
 public:
  TunedChooser(const Plan& plan, const TunedTable* table)
      : plan_(plan),
        operation_(operation_of(plan.spec)),
        gemm_(plan.spec.get_if<GemmSpec>()),
        sizes_(sizes_of(plan.spec)),
        table_(gemm_ == nullptr ? nullptr : table) {}

  TunedChoice choose() {
    take_entries();
    share_kernels();
    auto of_entry = of_entries_.begin();
    for (const ChosenRange& range : ranges_) {
      if (!range.entry) {
        predict(range);
        continue;
      }
      chosen_.push_back({std::move(*of_entry++), true});
      reasons_.push_back(table_text(*range.entry, range.m));
    }
    if (const char* const set = keeps_entries_from_use()) {
      reasons_.push_back(fmt::format("table {} is not used: the spec sets {}", table_->gpu(), set));
    }
    reasons_.insert(reasons_.end(), unused_.begin(), unused_.end());
    if (has_predicted()) {
      const CostReasons of_costs = cost_reasons(plan_, table_);
      for (const std::vector<std::string>* one : {&of_costs.used, &of_costs.unused}) {
        reasons_.insert(reasons_.end(), one->begin(), one->end());
      }
    }
    return {joined(), std::move(ranges_), std::move(reasons_)};
  }

  std::vector<std::string> unused() {
    take_entries();
    if (has_predicted()) {
      const std::vector<std::string> costs = cost_reasons(plan_, table_).unused;
      unused_.insert(unused_.end(), costs.begin(), costs.end());
    }
    return std::move(unused_);
  }

 private:
  // The ranges of M, and the kernels of those that have an entry.
  void take_entries() {
    std::int64_t next = sizes_.min;
    const auto leave_gap = [&](std::int64_t end) {
      if (next < end) ranges_.push_back({{next, end - 1}, std::nullopt});
    };
    for (const TunedEntry& entry : usable_entries()) {
      const MRange m{std::max(entry.m_first, sizes_.min), std::min(entry.m_last, sizes_.max)};
      std::optional<PlannedKernel> kernel = kernel_of(entry, m);
      if (!kernel) continue;
      leave_gap(m.min);
      ranges_.push_back({m, entry});
      of_entries_.push_back(*std::move(kernel));
      next = m.max + 1;
    }
    leave_gap(sizes_.max + 1);
  }
  bool has_predicted() const {
    const auto is_predicted = [](const ChosenRange& range) { return !range.entry; };
    return std::any_of(ranges_.begin(), ranges_.end(), is_predicted);
  }

  std::vector<TunedEntry> usable_entries() const {
    if (table_ == nullptr || what_no_table_has(*gemm_) != nullptr) return {};
    return table_->entries_for(*gemm_);
  }

  // What the spec sets, where that keeps entries for it from being used; else null.
  const char* keeps_entries_from_use() const {
    if (table_ == nullptr) return nullptr;
    const char* const set = what_no_table_has(*gemm_);
    return set != nullptr && !table_->entries_for(*gemm_).empty() ? set : nullptr;
  }

  // What is left of kMostKernels goes to the ranges without an entry one by one, always to that
  // with the most steps of M for each of its kernels.
  void share_kernels() {
    for (std::size_t used = ranges_.size(); used < kMostKernels; ++used) {
      ChosenRange* best = nullptr;
      for (ChosenRange& range : ranges_) {
        const bool may_have_more = !range.entry && steps_in(range) > range.most_kernels;
        if (!may_have_more) continue;
        if (best == nullptr ||
            steps_in(range) * best->most_kernels > steps_in(*best) * range.most_kernels) {
          best = &range;
        }
      }
      if (best == nullptr) return;
      ++best->most_kernels;
    }
  }
  std::size_t steps_in(const ChosenRange& range) const { return steps_of(plan_, range.m).size(); }

  // None, and a reason, if the entry's kernel cannot be had.
  std::optional<PlannedKernel> kernel_of(const TunedEntry& entry, const MRange& m) {
    const GemmFamily* const family = family_of(entry);
    const int version = family == nullptr ? 0 : family->version();
    if (entry.family_version != version) {
      unused_.push_back(fmt::format(
          "{}: not as measured: table {} is of version {} of {}, this is version {}",
          operation_.size_text(m), table_->gpu(), entry.family_version, entry.family, version));
      return std::nullopt;
    }
    for (Candidate& one : all_candidates(plan_, m)) {
      if (one.kernel.family == family && family->label(one.kernel) == entry.kernel) {
        return std::move(one.kernel);
      }
    }
    unused_.push_back(fmt::format(
        "{}: not as measured: {} has no kernel \"{}\" of table {} for this spec and range",
        operation_.size_text(m), entry.family, entry.kernel, table_->gpu()));
    return std::nullopt;
  }

  void predict(const ChosenRange& range) {
    const Plan part = with_range(plan_, range.m);
    for (Candidate& one : choose_kernels(part, range.m, range.most_kernels)) {
      PlannedKernel& kernel = one.kernel;
      if (!kernel.family->cost_parameters().empty()) {
        const MRange sizes{kernel.size_min, kernel.size_max};
        // Of all launches that the sizes stand for: several steps may have become one range.
        reasons_.push_back(fmt::format(
            "{}: {}, predicted {:.1f} us {}", operation_.size_text(sizes), kernel.family->name(),
            usual_us(part, kernel, sizes), operation_.launches_text(sizes)));
      }
      chosen_.push_back({std::move(kernel), false});
    }
  }

  std::string table_text(const TunedEntry& entry, const MRange& m) const {
    std::string text =
        fmt::format("{}: {}, of table {}", operation_.size_text(m), entry.family, table_->gpu());
    if (entry.us > 0 && m.max == entry.m_last) {
      text += fmt::format(", measured {:.1f} us at M = {}", entry.us, m.max);
    }
    return text;
  }

  std::vector<PlannedKernel> joined() const {
    std::vector<PlannedKernel> kernels;
    bool previous_of_table = false;
    for (const Chosen& one : chosen_) {
      PlannedKernel next = one.kernel;
      if (!kernels.empty() && (previous_of_table || one.of_table) &&
          is_one_kernel(kernels.back(), next)) {
        next.size_min = kernels.back().size_min;
        kernels.pop_back();
      }
      previous_of_table = one.of_table;
      kernels.push_back(std::move(next));
    }
    return kernels;
  }

  // Whether the kernel for more tokens is that for fewer, compiled with the same values.
  static bool is_one_kernel(const PlannedKernel& a, const PlannedKernel& b) {
    const auto launched = [](const PlannedKernel& kernel) {
      return std::tie(kernel.family, kernel.threads, kernel.shared_bytes, kernel.blocks_per_sm,
                      kernel.starts_early, kernel.box_tokens, kernel.arguments);
    };
    return launched(a) == launched(b) && a.family->json(a) == b.family->json(b);
  }

  const Plan& plan_;
  const Operation& operation_;
  const GemmSpec* const gemm_;  // null of other operations, which tables have no entries of
  const MRange sizes_;
  const TunedTable* table_;
  std::vector<ChosenRange> ranges_;        // ascending
  std::vector<PlannedKernel> of_entries_;  // of the ranges that have one
  std::vector<Chosen> chosen_;             // their kernels, ascending
  std::vector<std::string> reasons_;
  std::vector<std::string> unused_;  // on entries
};

}  // namespace

const char* what_no_table_has(const GemmSpec& spec) {
  if (spec.batch_invariant) return "batch_invariant";
  if (spec.path != Path::kAuto) return "a path";
  return sets_any(spec.tile) ? "a tile" : nullptr;
}

TunedChoice choose_with_table(const Plan& plan, const TunedTable* table) {
  return TunedChooser(plan, table).choose();
}

std::vector<std::string> unused_of_table(const Plan& plan, const TunedTable* table) {
  return TunedChooser(plan, table).unused();
}

}  // namespace heddle
