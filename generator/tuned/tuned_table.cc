#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "generator/spec/findings.h"
#include "generator/spec/parser.h"
#include "generator/tuned/format.h"
#include "generator/tuned/read_table.h"
#include "heddle/error.h"
#include "heddle/tuned.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

// Ascending by format, N, K and M.
std::vector<TunedEntry> sorted(std::vector<TunedEntry> entries) {
  std::vector<std::pair<std::string, std::size_t>> order;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    order.emplace_back(format_text(gemm_of(entries[i])), i);
  }
  const auto key = [&](const auto& place) {
    const TunedEntry& entry = entries[place.second];
    return std::tie(place.first, entry.n, entry.k, entry.m_first);
  };
  std::sort(order.begin(), order.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<TunedEntry> all;
  all.reserve(entries.size());
  for (const auto& place : order) all.push_back(std::move(entries[place.second]));
  return all;
}

bool same_shape(const TunedEntry& a, const TunedEntry& b) {
  return a.n == b.n && a.k == b.k && same_format(gemm_of(a), gemm_of(b));
}

// What is left of the entry outside of the other's range: up to two entries.
void add_rest(const TunedEntry& entry, const TunedEntry& other, std::vector<TunedEntry>* rest) {
  if (entry.m_first < other.m_first) {
    rest->push_back(entry);
    rest->back().m_last = std::min(entry.m_last, other.m_first - 1);
    if (rest->back().m_last != entry.m_last) rest->back().us = 0;
  }
  if (entry.m_last > other.m_last) {
    rest->push_back(entry);
    rest->back().m_first = std::max(entry.m_first, other.m_last + 1);
  }
}

std::vector<TunedEntry> without(const TunedEntry& entry, const std::vector<TunedEntry>& others) {
  std::vector<TunedEntry> rest{entry};
  for (const TunedEntry& other : others) {
    if (!same_shape(entry, other)) continue;
    std::vector<TunedEntry> less;
    for (const TunedEntry& part : rest) add_rest(part, other, &less);
    rest = std::move(less);
  }
  return rest;
}

// The latest version of each family among the entries.
std::map<std::string, int> versions_of(const std::vector<TunedEntry>& entries) {
  std::map<std::string, int> versions;
  for (const TunedEntry& entry : entries) {
    int& version = versions[entry.family];
    version = std::max(version, entry.family_version);
  }
  return versions;
}

std::string one_line(const ordered_json& json) {
  return json.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

std::string entry_line(const TunedEntry& entry, const std::map<std::string, int>& versions) {
  auto json = ordered_json::parse(format_text(gemm_of(entry)));
  json["n"] = entry.n;
  json["k"] = entry.k;
  json["m"] = {entry.m_first, entry.m_last};
  json["family"] = entry.family;
  if (entry.family_version != versions.at(entry.family)) json["version"] = entry.family_version;
  json["kernel"] = entry.kernel;
  if (entry.us != 0) json["us"] = entry.us;
  if (!entry.from.empty()) json["from"] = entry.from;
  return one_line(json);
}

std::string costs_line(const TunedCosts& costs) {
  ordered_json json;
  json["version"] = costs.version;
  json["values"] = costs.values;
  if (!costs.from.empty()) json["from"] = costs.from;
  return fmt::format("{}: {}", one_line(costs.family), one_line(json));
}

// Empty where there are none.
std::string costs_text(const std::vector<TunedCosts>& costs) {
  if (costs.empty()) return "";
  std::string text = "  \"costs\": {";
  for (const TunedCosts& one : costs) {
    text += fmt::format("{}\n    {}", &one == costs.data() ? "" : ",", costs_line(one));
  }
  return text + "\n  },\n";
}

std::string table_text(std::string_view gpu, const std::vector<TunedEntry>& entries,
                       const std::vector<TunedCosts>& costs) {
  const std::map<std::string, int> versions = versions_of(entries);
  std::string text = fmt::format(
      "{{\n  \"heddle_tuned\": {},\n  \"gpu\": {},\n  \"families\": {},\n{}  \"entries\": [",
      kTunedVersion, one_line(std::string(gpu)),
      versions.empty() ? "{}" : ordered_json(versions).dump(), costs_text(costs));
  for (const TunedEntry& entry : entries) {
    text +=
        fmt::format("{}\n    {}", &entry == entries.data() ? "" : ",", entry_line(entry, versions));
  }
  return text + (entries.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

// Texts are made of values that their fields allow.
void check_formats(const std::vector<TunedEntry>& entries) {
  Findings findings("tuned");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const GemmSpec gemm = gemm_of(entries[i]);
    Findings of_entry("tuned");
    check_fields(format_fields(), &gemm, {}, of_entry);
    for (Problem& problem : of_entry.problems()) {
      problem.pointer.insert(0, fmt::format("/entries/{}", i));
      findings.add("out_of_range", std::move(problem));
    }
  }
  findings.throw_if_any();
}

}  // namespace

TunedTable TunedTable::parse(std::string_view json) {
  TableText text = read_table(json);
  TunedTable table;
  table.gpu_ = std::move(text.gpu);
  table.entries_ = sorted(std::move(text.entries));
  table.costs_ = std::move(text.costs);
  return table;
}

TunedTable TunedTable::from_entries(std::string_view gpu, const std::vector<TunedEntry>& entries,
                                    const std::vector<TunedCosts>& costs) {
  check_formats(entries);
  return parse(table_text(gpu, entries, costs));
}

std::vector<TunedEntry> TunedTable::entries_for(const GemmSpec& gemm) const {
  GemmSpec settled = gemm;
  settle_format(settled);
  std::vector<TunedEntry> found;
  for (const TunedEntry& entry : entries_) {
    if (serves(entry, settled)) found.push_back(entry);
  }
  return found;
}

void TunedTable::merge(const TunedTable& later) {
  if (later.gpu_ != gpu_) {
    throw Error(ErrorCategory::kUsage, "tuned.other_gpu",
                fmt::format("a table of {} cannot be merged into one of {}", later.gpu_, gpu_));
  }
  std::vector<TunedEntry> merged;
  for (const TunedEntry& entry : entries_) {
    for (TunedEntry& part : without(entry, later.entries_)) merged.push_back(std::move(part));
  }
  merged.insert(merged.end(), later.entries_.begin(), later.entries_.end());
  entries_ = sorted(std::move(merged));
  for (const TunedCosts& costs : later.costs_) {
    const auto place = std::lower_bound(
        costs_.begin(), costs_.end(), costs,
        [](const TunedCosts& a, const TunedCosts& b) { return a.family < b.family; });
    if (place != costs_.end() && place->family == costs.family) {
      *place = costs;
    } else {
      costs_.insert(place, costs);
    }
  }
}

std::string TunedTable::to_json() const { return table_text(gpu_, entries_, costs_); }

}  // namespace heddle
