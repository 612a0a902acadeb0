#include "runtime/tables/bundled_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/tuned/format.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// A table that says nothing does as much as no table.
std::string text_in_use(const TunedTables& tables, const std::string& gpu) {
  const TunedTable* const table = find_table(tables, gpu);
  const bool says_nothing =
      table == nullptr || (table->entries().empty() && table->costs().empty());
  return says_nothing ? std::string() : table->to_json();
}

// Whether the entry is all or a part of one of the table's.
bool is_part_of(const TunedTable* table, const TunedEntry& part) {
  return table != nullptr && std::ranges::any_of(table->entries(), [&](const TunedEntry& whole) {
           return part.n == whole.n && part.k == whole.k && part.m_first >= whole.m_first &&
                  part.m_last <= whole.m_last && part.kernel == whole.kernel &&
                  part.family == whole.family && part.family_version == whole.family_version &&
                  same_format(gemm_of(part), gemm_of(whole));
         });
}

// Whether the table has the same costs of the family.
bool has_costs(const TunedTable* table, const TunedCosts& costs) {
  return table != nullptr && std::ranges::any_of(table->costs(), [&](const TunedCosts& other) {
           return other.family == costs.family && other.version == costs.version &&
                  other.values == costs.values;
         });
}

// The entries and costs that are of the shipped table, or all others.
TunedTable part_of(const TunedTable& table, bool of_shipped) {
  const TunedTable* const shipped = find_table(TunedTables::shipped(), table.gpu());
  std::vector<TunedEntry> entries;
  for (const TunedEntry& entry : table.entries()) {
    if (is_part_of(shipped, entry) == of_shipped) entries.push_back(entry);
  }
  std::vector<TunedCosts> costs;
  for (const TunedCosts& one : table.costs()) {
    if (has_costs(shipped, one) == of_shipped) costs.push_back(one);
  }
  return TunedTable::from_entries(table.gpu(), entries, costs);
}

// Puts the table of an earlier bundle before what later bundles say of its GPU.
void add_before(const TunedTable& table, TunedTables* later) {
  const TunedTable* const known = find_table(*later, table.gpu());
  if (known == nullptr) {
    later->add(table);
    return;
  }
  TunedTable merged = part_of(table, true);
  merged.merge(*known);
  merged.merge(own_part(table));
  later->add(merged);
}

}  // namespace

const TunedTable* find_table(const TunedTables& tables, const std::string& gpu) {
  const auto found = std::ranges::find(tables.tables(), gpu, &TunedTable::gpu);
  return found == tables.tables().end() ? nullptr : &*found;
}

TunedTable own_part(const TunedTable& table) { return part_of(table, false); }

TunedTables in_order_of_roots(const std::vector<TunedTables>& bundles) {
  TunedTables all;
  for (auto bundle = bundles.rbegin(); bundle != bundles.rend(); ++bundle) {
    for (const TunedTable& table : bundle->tables()) add_before(table, &all);
  }
  return all;
}

TunedTables tables_to_bundle(const TunedTables& in_use, const std::set<std::string>& gpus) {
  TunedTables tables;
  for (const std::string& gpu : gpus) {
    const std::string text = text_in_use(in_use, gpu);
    if (text == text_in_use(TunedTables::shipped(), gpu)) continue;
    // Parsed once more: with every default written out a text may be too long to be read.
    tables.add(text.empty() ? TunedTable::from_entries(gpu, {}) : TunedTable::parse(text));
  }
  return tables;
}

TunedTables parse_bundled_tables(const std::vector<std::string>& texts) {
  TunedTables tables;
  for (const std::string& text : texts) {
    const TunedTable table = TunedTable::parse(text);
    if (table.to_json() != text) {
      throw Error(ErrorCategory::kSpec, "tuned.not_canonical",
                  fmt::format("the table of {} is not written as Heddle writes it", table.gpu()));
    }
    if (find_table(tables, table.gpu()) != nullptr) {
      throw Error(ErrorCategory::kSpec, "tuned.two_tables",
                  fmt::format("there are two tables of {}", table.gpu()));
    }
    tables.add(table);
  }
  return tables;
}

TunedTables bundled_tables(const std::vector<LayerTables>& bundles, Logger* logger) {
  std::vector<TunedTables> in_order;
  for (const LayerTables& bundle : bundles) {
    try {
      in_order.push_back(parse_bundled_tables(bundle.texts));
    } catch (const Error& error) {
      logger->log(LogLevel::kWarning, fmt::format("bundle {}: its tuned tables are not used: {}",
                                                  bundle.path, error.what()));
    }
  }
  return in_order_of_roots(in_order);
}

TunedTables in_place_of_shipped(TunedTables bundled) {
  for (const TunedTable& table : TunedTables::shipped().tables()) {
    if (find_table(bundled, table.gpu()) == nullptr) bundled.add(table);
  }
  return bundled;
}

}  // namespace heddle
