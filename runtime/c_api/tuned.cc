// The C API of tuned tables.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runtime/c_api/handles.h"

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::text_of;
using heddle::c_api::view;

namespace {

std::string tuned_families_text() {
  std::map<std::string, int> costs = heddle::tuned_cost_versions();
  auto families = nlohmann::ordered_json::array();
  for (const auto& [name, version] : heddle::tuned_family_versions()) {
    families.push_back({{"name", name}, {"version", version}, {"cost_version", costs[name]}});
  }
  return nlohmann::ordered_json{{"families", std::move(families)}}.dump();
}

heddle::TunedTable parse_table(const heddle_text& json, std::size_t index) {
  try {
    return heddle::TunedTable::parse(view(json));
  } catch (const heddle::Error& error) {
    throw heddle::Error(error.category(), error.code(),
                        heddle::c_api::problems_at(fmt::format("tables[{}]", index), error));
  }
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
    *count = set->texts.size();
  });
}

heddle_status heddle_tuned_tables_json(const heddle_tuned_tables* set, size_t table,
                                       heddle_text* json) {
  return guarded([&] {
    need(set, "set");
    need(json, "json");
    heddle::c_api::need_index(table, set->texts.size(), "table");
    *json = text_of(set->texts[table]);
  });
}

heddle_status heddle_tuned_families(heddle_text* json) {
  return guarded([&] {
    need(json, "json");
    static const std::string text = tuned_families_text();
    *json = text_of(text);
  });
}
