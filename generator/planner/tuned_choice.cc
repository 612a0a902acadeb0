#include "generator/planner/tuned_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "generator/families/registry.h"
#include "generator/planner/same_kernel.h"

namespace heddle {
namespace {

// What was chosen for some M by itself.
struct Range {
  Candidate kernel;
  bool measured = false;
};

std::string m_text(std::int64_t first, std::int64_t last) {
  return fmt::format("M {} to {}", first, last);
}

bool sets_tile(const TileSpec& tile) {
  return tile.m || tile.n || tile.k || tile.stages || tile.split_k || tile.warps_m ||
         tile.warps_n || tile.warps_k;
}

const GemmFamily* family_of(const TunedEntry& entry) {
  for (const GemmFamily* family : gemm_families()) {
    if (family->name() == entry.family) return family;
  }
  return nullptr;
}

class TunedChooser {
 public:
  TunedChooser(const Plan& plan, const TunedTable* table)
      : plan_(plan), shape_(plan.spec.gemm().shape), table_(table) {}

  TunedChoice choose() {
    const std::vector<TunedEntry> entries = usable_entries();
    std::vector<std::optional<Candidate>> kernels;
    kernels.reserve(entries.size());
    for (const TunedEntry& entry : entries) kernels.push_back(kernel_of(entry, range_of(entry)));
    std::int64_t next = shape_.m_min;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!kernels[i]) continue;
      const MRange m = range_of(entries[i]);
      if (next < m.min) chosen_.push_back({{next, m.min - 1}, std::nullopt});
      chosen_.push_back({m, entries[i]});
      next = m.max + 1;
    }
    if (next <= shape_.m_max) chosen_.push_back({{next, shape_.m_max}, std::nullopt});
    share_kernels();
    auto kernel = kernels.begin();
    for (const ChosenRange& range : chosen_) {
      if (!range.entry) {
        predict(range);
        continue;
      }
      while (!*kernel) ++kernel;
      ranges_.push_back({**kernel++, true});
      reasons_.push_back(measured_text(*range.entry, range.m));
    }
    reasons_.insert(reasons_.end(), unused_.begin(), unused_.end());
    return {joined(), std::move(chosen_), std::move(reasons_)};
  }

 private:
  std::vector<TunedEntry> usable_entries() {
    if (table_ == nullptr) return {};
    const GemmSpec& spec = plan_.spec.gemm();
    std::vector<TunedEntry> entries = table_->entries_for(spec);
    if (entries.empty() || (spec.path == Path::kAuto && !sets_tile(spec.tile))) return entries;
    unused_.push_back(fmt::format("table {} is not used: the spec sets a {}", table_->gpu(),
                                  spec.path == Path::kAuto ? "tile" : "path"));
    return {};
  }

  MRange range_of(const TunedEntry& entry) const {
    return {std::max(entry.m_first, shape_.m_min), std::min(entry.m_last, shape_.m_max)};
  }

  // What is left of kMostKernels goes to the ranges without an entry one by one, always to that
  // with the most steps of M for each of its kernels.
  void share_kernels() {
    for (std::size_t used = chosen_.size(); used < kMostKernels; ++used) {
      ChosenRange* best = nullptr;
      for (ChosenRange& range : chosen_) {
        const bool may_have_more = !range.entry && steps_of(range) > range.most_kernels;
        if (!may_have_more) continue;
        if (best == nullptr ||
            steps_of(range) * best->most_kernels > steps_of(*best) * range.most_kernels) {
          best = &range;
        }
      }
      if (best == nullptr) return;
      ++best->most_kernels;
    }
  }
  static std::size_t steps_of(const ChosenRange& range) {
    return token_steps(range.m.min, range.m.max).size();
  }

  // None, and a reason, if the entry's kernel cannot be had.
  std::optional<Candidate> kernel_of(const TunedEntry& entry, const MRange& m) {
    const GemmFamily* const family = family_of(entry);
    const int version = family == nullptr ? 0 : family->version();
    if (entry.family_version != version) {
      unused_.push_back(fmt::format(
          "{}: not as measured: table {} is of version {} of {}, this is version {}",
          m_text(m.min, m.max), table_->gpu(), entry.family_version, entry.family, version));
      return std::nullopt;
    }
    for (Candidate& one : gemm_candidates(plan_, m)) {
      if (one.family == family && family->label(one.variant) == entry.kernel) return std::move(one);
    }
    unused_.push_back(fmt::format(
        "{}: not as measured: {} has no kernel \"{}\" of table {} for this spec and range",
        m_text(m.min, m.max), entry.family, entry.kernel, table_->gpu()));
    return std::nullopt;
  }

  void predict(const ChosenRange& range) {
    for (Candidate& one : choose_kernels(with_range(plan_, range.m), range.most_kernels)) {
      const GemmVariant& v = one.variant;
      reasons_.push_back(fmt::format("{}: {}, predicted {:.1f} us at M = {}",
                                     m_text(v.m_min, v.m_max), one.family->name(), one.us,
                                     v.m_max));
      ranges_.push_back({std::move(one), false});
    }
  }

  std::string measured_text(const TunedEntry& entry, const MRange& m) const {
    std::string text =
        fmt::format("{}: {}, of table {}", m_text(m.min, m.max), entry.family, table_->gpu());
    if (entry.us > 0 && m.max == entry.m_last) {
      text += fmt::format(", measured {:.1f} us at M = {}", entry.us, m.max);
    }
    return text;
  }

  std::vector<Candidate> joined() const {
    std::vector<Candidate> kernels;
    bool previous_measured = false;
    for (const Range& range : ranges_) {
      Candidate next = range.kernel;
      if (!kernels.empty() && (previous_measured || range.measured) &&
          is_one_kernel(kernels.back(), next)) {
        next.variant.m_min = kernels.back().variant.m_min;
        kernels.pop_back();
      }
      previous_measured = range.measured;
      kernels.push_back(std::move(next));
    }
    return kernels;
  }

  // Whether the kernel for more tokens is that for fewer, compiled with the same values.
  bool is_one_kernel(const Candidate& fewer, const Candidate& more) const {
    if (fewer.family != more.family || !is_same_kernel(fewer.variant, more.variant)) return false;
    const PlannedKernel a = fewer.family->kernel(plan_, fewer.variant);
    const PlannedKernel b = more.family->kernel(plan_, more.variant);
    const auto launched = [](const PlannedKernel& kernel) {
      return std::tie(kernel.threads, kernel.shared_bytes, kernel.blocks_per_sm,
                      kernel.starts_early, kernel.box_tokens, kernel.arguments);
    };
    return launched(a) == launched(b) && a.family->json(a) == b.family->json(b);
  }

  const Plan& plan_;
  const GemmShape& shape_;
  const TunedTable* table_;
  std::vector<ChosenRange> chosen_;
  std::vector<Range> ranges_;  // ascending, with their kernels
  std::vector<std::string> reasons_;
  std::vector<std::string> unused_;
};

}  // namespace

Plan with_range(const Plan& plan, const MRange& m) {
  GemmSpec spec = plan.spec.gemm();
  spec.shape.m_min = m.min;
  spec.shape.m_max = m.max;
  Plan part = plan;
  part.spec = Spec::from_gemm(spec, plan.spec.name());
  return part;
}

TunedChoice choose_with_table(const Plan& plan, const TunedTable* table) {
  return TunedChooser(plan, table).choose();
}

}  // namespace heddle
