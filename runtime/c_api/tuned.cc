// The C API of tuned tables.
#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <map>

#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_index;
using heddle::c_api::text_of;
using heddle::c_api::view;
using heddle::c_api::write_struct;

namespace {

struct Family {
  std::string name;
  int version = 0;
  int cost_version = 0;
};

// The library's families, sorted by name.
const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::map<std::string, int> costs = heddle::tuned_cost_versions();
    std::vector<Family> list;
    for (const auto& [name, version] : heddle::tuned_family_versions()) {
      list.push_back({name, version, costs[name]});
    }
    return list;
  }();
  return all;
}

heddle::TunedTable parse_table(const heddle_text& json, std::size_t index) {
  try {
    return heddle::TunedTable::parse(view(json));
  } catch (const heddle::Error& error) {
    throw heddle::Error(error.category(), error.code(),
                        heddle::c_api::problems_at(fmt::format("tables[{}]", index), error));
  }
}

const heddle::TunedTable& table_of(const heddle_tuned_tables* set, std::size_t table) {
  need(set, "set");
  need_index(table, set->tables.tables().size(), "table");
  return set->tables.tables()[table];
}

const heddle::TunedCosts& costs_of(const heddle_tuned_tables* set, std::size_t table,
                                   std::size_t costs) {
  const std::vector<heddle::TunedCosts>& all = table_of(set, table).costs();
  need_index(costs, all.size(), "costs");
  return all[costs];
}

}  // namespace

heddle_status heddle_tuned_tables_create(const heddle_tuned_tables* base, const heddle_text* tables,
                                         size_t table_count, heddle_tuned_tables** set) {
  return guarded([&] {
    need(set, "set");
    *set = nullptr;
    if (table_count > 0) need(tables, "tables");
    heddle::c_api::need_count(table_count, "table_count");
    heddle::TunedTables all;
    if (base != nullptr) all = base->tables;
    for (size_t i = 0; i < table_count; ++i) all.add(parse_table(tables[i], i));
    *set = new heddle_tuned_tables(std::move(all));
  });
}

heddle_status heddle_tuned_tables_shipped(heddle_tuned_tables** set) {
  return guarded([&] {
    need(set, "set");
    *set = nullptr;
    *set = new heddle_tuned_tables(heddle::TunedTables::shipped());
  });
}

heddle_status heddle_tuned_tables_of_runtime(heddle_runtime* runtime, heddle_tuned_tables** set) {
  return guarded([&] {
    need(set, "set");
    *set = nullptr;
    need(runtime, "runtime");
    *set = new heddle_tuned_tables(runtime->runtime.tuned_tables());
  });
}

void heddle_tuned_tables_destroy(heddle_tuned_tables* set) { delete set; }

heddle_status heddle_tuned_tables_count(const heddle_tuned_tables* set, size_t* count) {
  return guarded([&] {
    need(set, "set");
    need(count, "count");
    *count = set->tables.tables().size();
  });
}

heddle_status heddle_tuned_tables_get(const heddle_tuned_tables* set, size_t table,
                                      heddle_tuned_table_info* info) {
  return guarded([&] {
    const heddle::TunedTable& one = table_of(set, table);
    heddle_tuned_table_info values = {};
    values.gpu = text_of(one.gpu());
    values.json = text_of(set->texts[table]);
    values.entry_count = one.entries().size();
    values.cost_count = one.costs().size();
    write_struct(values, info, "heddle_tuned_table_info");
  });
}

heddle_status heddle_tuned_tables_entry(const heddle_tuned_tables* set, size_t table, size_t entry,
                                        heddle_tuned_entry_info* info) {
  return guarded([&] {
    const std::vector<heddle::TunedEntry>& entries = table_of(set, table).entries();
    need_index(entry, entries.size(), "entry");
    const heddle::TunedEntry& one = entries[entry];
    heddle_tuned_entry_info values = {};
    values.format = text_of(set->formats[table][entry]);
    values.family = text_of(one.family);
    values.kernel = text_of(one.kernel);
    values.from = text_of(one.from);
    values.n = one.n;
    values.k = one.k;
    values.m_first = one.m_first;
    values.m_last = one.m_last;
    values.us = one.us;
    values.family_version = one.family_version;
    write_struct(values, info, "heddle_tuned_entry_info");
  });
}

heddle_status heddle_tuned_tables_find(const heddle_tuned_tables* set, const heddle_target* target,
                                       size_t* table) {
  return guarded([&] {
    need(set, "set");
    need(target, "target");
    need(table, "table");
    const std::vector<heddle::TunedTable>& all = set->tables.tables();
    const heddle::TunedTable* found = set->tables.of(target->target);
    *table = found == nullptr ? all.size() : static_cast<std::size_t>(found - all.data());
  });
}

heddle_status heddle_tuned_tables_entries_for(const heddle_tuned_tables* set, size_t table,
                                              const char* spec, size_t spec_length, size_t* entries,
                                              size_t capacity, size_t* count) {
  return guarded([&] {
    need(count, "count");
    if (capacity > 0) need(entries, "entries");
    const heddle::TunedTable& one = table_of(set, table);
    const heddle::Spec parsed = heddle::c_api::spec_of(heddle::Op::kGemm, spec, spec_length);
    std::size_t found = 0;
    for (std::size_t i = 0; i < one.entries().size(); ++i) {
      if (!heddle::serves(one.entries()[i], parsed.gemm())) continue;
      if (found < capacity) entries[found] = i;
      ++found;
    }
    *count = found;
  });
}

heddle_status heddle_tuned_tables_costs(const heddle_tuned_tables* set, size_t table, size_t costs,
                                        heddle_tuned_costs_info* info) {
  return guarded([&] {
    const heddle::TunedCosts& one = costs_of(set, table, costs);
    heddle_tuned_costs_info values = {};
    values.family = text_of(one.family);
    values.from = text_of(one.from);
    values.value_count = one.values.size();
    values.version = one.version;
    write_struct(values, info, "heddle_tuned_costs_info");
  });
}

heddle_status heddle_tuned_tables_cost(const heddle_tuned_tables* set, size_t table, size_t costs,
                                       size_t index, heddle_text* name, double* value) {
  return guarded([&] {
    need(name, "name");
    need(value, "value");
    const heddle::TunedCosts& one = costs_of(set, table, costs);
    need_index(index, one.values.size(), "index");
    const auto place = std::next(one.values.begin(), static_cast<std::ptrdiff_t>(index));
    *name = text_of(place->first);
    *value = place->second;
  });
}

heddle_status heddle_tuned_family_count(size_t* count) {
  return guarded([&] {
    need(count, "count");
    *count = families().size();
  });
}

heddle_status heddle_tuned_family(size_t index, heddle_tuned_family_info* info) {
  return guarded([&] {
    need_index(index, families().size(), "index");
    const Family& family = families()[index];
    heddle_tuned_family_info values = {};
    values.name = text_of(family.name);
    values.version = family.version;
    values.cost_version = family.cost_version;
    write_struct(values, info, "heddle_tuned_family_info");
  });
}
