#include "runtime/tables/merged_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/kernel_name.h"
#include "generator/tuned/format.h"
#include "heddle/error.h"
#include "runtime/tables/bundled_tables.h"

namespace heddle {
namespace {

// What the kernels of one bundle for one GPU were planned with.
struct Planned {
  const TablesOfBundle* bundle;
  TunedTable table;
  TunedTable own;           // what is not of the shipped table
  bool is_complete = true;  // nothing of the shipped table is left out
};

TunedTable shipped_table(const std::string& gpu) {
  const TunedTable* const table = find_table(TunedTables::shipped(), gpu);
  return table != nullptr ? *table : TunedTable::from_entries(gpu, {});
}

bool is_complete(const TunedTable& table) {
  TunedTable whole = shipped_table(table.gpu());
  whole.merge(table);
  return whole.to_json() == table.to_json();
}

bool overlap(const TunedEntry& a, const TunedEntry& b) {
  return a.n == b.n && a.k == b.k && a.m_first <= b.m_last && b.m_first <= a.m_last &&
         same_format(gemm_of(a), gemm_of(b));
}

bool same_kernel(const TunedEntry& a, const TunedEntry& b) {
  return a.family == b.family && a.family_version == b.family_version && a.kernel == b.kernel;
}

bool same_costs(const std::vector<TunedCosts>& a, const std::vector<TunedCosts>& b) {
  return std::ranges::equal(a, b, [](const TunedCosts& one, const TunedCosts& other) {
    return one.family == other.family && one.version == other.version && one.values == other.values;
  });
}

void add_problem(std::string message, std::vector<Problem>* problems) {
  problems->push_back({"", std::move(message), "", "", ""});
}

void compare(const Planned& a, const Planned& b, std::vector<Problem>* problems) {
  const std::string both = fmt::format("the tuned tables of {} for {} and {}", a.table.gpu(),
                                       a.bundle->path, b.bundle->path);
  for (const TunedEntry& one : a.own.entries()) {
    for (const TunedEntry& other : b.own.entries()) {
      if (!overlap(one, other) || same_kernel(one, other)) continue;
      add_problem(
          fmt::format("{} name different kernels for n = {}, k = {}, M = {}: {} {} and {} {}", both,
                      one.n, one.k, std::max(one.m_first, other.m_first), one.family, one.kernel,
                      other.family, other.kernel),
          problems);
    }
  }
  if (!same_costs(a.table.costs(), b.table.costs())) {
    add_problem(both + " have different costs, by which all gemms are planned", problems);
  }
  if (a.is_complete != b.is_complete) {
    add_problem(fmt::format("{} contradict each other: {} was planned without entries of the table "
                            "that comes with Heddle",
                            both, (a.is_complete ? b : a).bundle->path),
                problems);
  }
}

std::vector<Planned> planned_for(const std::string& gpu,
                                 const std::vector<TablesOfBundle>& bundles) {
  std::vector<Planned> all;
  for (const TablesOfBundle& bundle : bundles) {
    if (const TunedTable* const table = find_table(bundle.tables, gpu)) {
      all.push_back({&bundle, *table, own_part(*table), is_complete(*table)});
    } else if (bundle.kernels.count(gpu) != 0 || bundle.kernels.count("") != 0) {
      all.push_back({&bundle, shipped_table(gpu), TunedTable::from_entries(gpu, {}), true});
    }
  }
  return all;
}

// Whether a bundle has kernels for the GPU of the entry's gemms, as their names say. A kernel of
// any shape does not say for which N and K it was planned: those of the other kernels of its format
// count for it, and all do where it has no others, which is so of large M alone. A spec may keep
// entries from being used (tile, path), which a name does not tell either, so this errs towards
// yes.
bool has_kernel_of(const TablesOfBundle& bundle, const std::string& gpu, const TunedEntry& entry) {
  const std::string prefix = gemm_name_prefix(entry.weight, entry.activation) + '_';
  const std::string shape = gemm_name_shape(entry.n, entry.k);
  bool has_any_shape = false;
  bool has_other_shapes = false;
  for (const auto& [planned_for, names] : bundle.kernels) {
    if (planned_for != gpu && !planned_for.empty()) continue;
    for (const std::string& name : names) {
      if (!name.starts_with(prefix)) continue;
      if (name.find(shape) != std::string::npos) return true;
      (is_name_of_any_shape(name) ? has_any_shape : has_other_shapes) = true;
    }
  }
  return has_any_shape && !has_other_shapes;
}

// Whether the table has an entry for the same gemms that names the same kernel.
bool has_same(const TunedTable& table, const TunedEntry& entry) {
  return std::ranges::any_of(table.entries(), [&](const TunedEntry& other) {
    return other.m_first == entry.m_first && other.m_last == entry.m_last &&
           overlap(entry, other) && same_kernel(entry, other);
  });
}

// Whether a process with the merged table would plan kernels of this bundle otherwise.
void compare_with_merged(const Planned& planned, const TunedTable& merged,
                         std::vector<Problem>* problems) {
  for (const TunedEntry& entry : merged.entries()) {
    if (has_same(planned.table, entry)) continue;
    if (!has_kernel_of(*planned.bundle, merged.gpu(), entry)) continue;
    add_problem(fmt::format("{} has kernels for {} of n = {}, k = {} that were planned without the "
                            "tuned entry of another bundle for M = {} to {}: {} {}",
                            planned.bundle->path, merged.gpu(), entry.n, entry.k, entry.m_first,
                            entry.m_last, entry.family, entry.kernel),
                problems);
  }
}

}  // namespace

TunedTables merge_bundled_tables(const std::vector<TablesOfBundle>& bundles) {
  std::set<std::string> gpus;
  std::vector<TunedTables> in_order;
  for (const TablesOfBundle& bundle : bundles) {
    for (const TunedTable& table : bundle.tables.tables()) gpus.insert(table.gpu());
    in_order.push_back(bundle.tables);
  }
  TunedTables merged = in_order_of_roots(in_order);
  std::vector<Problem> problems;
  for (const std::string& gpu : gpus) {
    const std::vector<Planned> planned = planned_for(gpu, bundles);
    const std::size_t before = problems.size();
    for (std::size_t i = 0; i < planned.size(); ++i) {
      for (std::size_t j = i + 1; j < planned.size(); ++j) {
        compare(planned[i], planned[j], &problems);
      }
    }
    // Tables that contradict each other make no table that kernels could be compared with.
    if (problems.size() != before) continue;
    for (const Planned& each : planned) {
      compare_with_merged(each, *find_table(merged, gpu), &problems);
    }
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kUnsupported, "bundle.tables_contradict", std::move(problems));
  }
  return merged;
}

}  // namespace heddle
