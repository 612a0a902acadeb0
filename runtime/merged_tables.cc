#include "runtime/merged_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/tuned/format.h"
#include "heddle/error.h"
#include "runtime/bundled_tables.h"

namespace heddle {
namespace {

// What the kernels of one bundle for one GPU were planned with.
struct Planned {
  const std::string* path;
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
  const std::string both =
      fmt::format("the tuned tables of {} for {} and {}", a.table.gpu(), *a.path, *b.path);
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
                            both, a.is_complete ? *b.path : *a.path),
                problems);
  }
}

std::vector<Planned> planned_for(const std::string& gpu,
                                 const std::vector<TablesOfBundle>& bundles) {
  std::vector<Planned> all;
  for (const TablesOfBundle& bundle : bundles) {
    if (const TunedTable* const table = find_table(bundle.tables, gpu)) {
      all.push_back({&bundle.path, *table, own_part(*table), is_complete(*table)});
    } else if (bundle.gpus.count(gpu) != 0 || !bundle.knows_gpus) {
      all.push_back({&bundle.path, shipped_table(gpu), TunedTable::from_entries(gpu, {}), true});
    }
  }
  return all;
}

}  // namespace

TunedTables merge_bundled_tables(const std::vector<TablesOfBundle>& bundles) {
  std::set<std::string> gpus;
  std::vector<TunedTables> in_order;
  for (const TablesOfBundle& bundle : bundles) {
    for (const TunedTable& table : bundle.tables.tables()) gpus.insert(table.gpu());
    in_order.push_back(bundle.tables);
  }
  std::vector<Problem> problems;
  for (const std::string& gpu : gpus) {
    const std::vector<Planned> planned = planned_for(gpu, bundles);
    for (std::size_t i = 0; i < planned.size(); ++i) {
      for (std::size_t j = i + 1; j < planned.size(); ++j) {
        compare(planned[i], planned[j], &problems);
      }
    }
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kUnsupported, "bundle.tables_contradict", std::move(problems));
  }
  return in_order_of_roots(in_order);
}

}  // namespace heddle
