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

Plan with_range(const Plan& plan, const MRange& m) {
  GemmSpec spec = plan.spec.gemm();
  spec.shape.m_min = m.min;
  spec.shape.m_max = m.max;
  Plan part = plan;
  part.spec = Spec::from_gemm(spec, plan.spec.name());
  return part;
}

class TunedChooser {
 public:
  TunedChooser(const Plan& plan, const TunedTable* table)
      : plan_(plan), shape_(plan.spec.gemm().shape), table_(table) {}

  TunedChoice choose() {
    const std::vector<TunedEntry> entries = usable_entries();
    std::vector<std::optional<Candidate>> kernels;
    for (const TunedEntry& entry : entries) kernels.push_back(kernel_of(entry, range_of(entry)));
    share_kernels(entries, kernels);
    std::int64_t next = shape_.m_min;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!kernels[i]) continue;
      const MRange m = range_of(entries[i]);
      predict({next, m.min - 1});
      ranges_.push_back({*kernels[i], true});
      reasons_.push_back(measured_text(entries[i], m));
      next = m.max + 1;
    }
    predict({next, shape_.m_max});
    reasons_.insert(reasons_.end(), unused_.begin(), unused_.end());
    return {joined(), std::move(reasons_)};
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

  // What entries leave of kMostKernels goes to the ranges between them in equal parts, one at
  // least.
  void share_kernels(const std::vector<TunedEntry>& entries,
                     const std::vector<std::optional<Candidate>>& kernels) {
    std::size_t used = 0, gaps = 0;
    std::int64_t next = shape_.m_min;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!kernels[i]) continue;
      ++used;
      if (range_of(entries[i]).min > next) ++gaps;
      next = range_of(entries[i]).max + 1;
    }
    if (next <= shape_.m_max) ++gaps;
    if (gaps > 0 && used + gaps < kMostKernels) kernels_of_gap_ = (kMostKernels - used) / gaps;
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

  void predict(const MRange& m) {
    if (m.min > m.max) return;
    for (Candidate& one : choose_kernels(with_range(plan_, m), kernels_of_gap_)) {
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
  std::size_t kernels_of_gap_ = 1;
  std::vector<Range> ranges_;  // ascending
  std::vector<std::string> reasons_;
  std::vector<std::string> unused_;
};

}  // namespace

TunedChoice choose_with_table(const Plan& plan, const TunedTable* table) {
  return TunedChooser(plan, table).choose();
}

}  // namespace heddle
