// Tuned tables: those that plans for this machine's GPUs are made with.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/cache.h"
#include "heddle/tuned.h"
#include "runtime/logger.h"
#include "runtime/tables/bundled_tables.h"
#include "runtime/tables/tuned_files.h"
#include "tools/heddle/doctor/diagnosis.h"
#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

constexpr const char* kTableAdvice = "correct HEDDLE_TUNED, or make the table with heddle tune";

constexpr const char* kBundleAdvice =
    "make the bundle again, with tables of this version of Heddle";

bool is_of_a_device(const std::string& gpu, const std::vector<Target>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [&](const Target& device) { return tuned_gpu(device) == gpu; });
}

// What of the named files is unreadable or of no use here. False if they cannot all be read.
bool check_named_tables(Diagnosis* diagnosis) {
  const std::size_t before = diagnosis->problems.size();
  std::vector<Remark> of_others;
  bool one_applies = diagnosis->devices.empty();
  examine("HEDDLE_TUNED", kTableAdvice, diagnosis, [&] {
    for (const std::string& name : TunedFiles("", [] { return TunedTables(); }).named()) {
      examine("HEDDLE_TUNED", kTableAdvice, diagnosis, [&] {
        const std::string gpu = read_table_file(name).gpu();
        if (is_of_a_device(gpu, diagnosis->devices)) {
          one_applies = true;
        } else if (!diagnosis->devices.empty()) {
          of_others.push_back(
              {"HEDDLE_TUNED",
               fmt::format("{} is a table of {}, and no GPU here is one", name, gpu), ""});
        }
      });
    }
  });
  const bool all_read = diagnosis->problems.size() == before;
  for (Remark& remark : of_others) {
    // One variable may serve machines with different GPUs.
    if (!one_applies) remark.advice = "heddle tune makes a table of the GPU at hand";
    (one_applies ? diagnosis->notes : diagnosis->problems).push_back(std::move(remark));
  }
  return all_read;
}

void show_tables(const TunedTables& tables, Diagnosis* diagnosis) {
  for (const TunedTable& table : tables.tables()) {
    if (!diagnosis->devices.empty() && !is_of_a_device(table.gpu(), diagnosis->devices)) continue;
    diagnosis->found["tuned"].push_back({{"gpu", table.gpu()},
                                         {"entries", table.entries().size()},
                                         {"costs", table.costs().size()}});
    diagnosis->lines.emplace_back(
        "tuned table", fmt::format("{}: {} and {}", table.gpu(),
                                   count_text(table.entries().size(), "measured kernel"),
                                   count_text(table.costs().size(), "set") + " of measured costs"));
  }
}

}  // namespace

void probe_tables(Diagnosis* diagnosis) {
  diagnosis->found["tuned"] = nlohmann::ordered_json::array();
  if (!check_named_tables(diagnosis)) return;
  examine("tuned tables", kBundleAdvice, diagnosis, [&] {
    Logger logger([&](LogLevel, std::string_view text) {
      diagnosis->problems.push_back({"tuned tables", std::string(text), kBundleAdvice});
    });
    CacheOptions options;
    options.disk = diagnosis->roots.has_value();  // what is wrong there is told
    Cache cache(options);
    TunedFiles files("", [&] { return bundled_tables(cache.tuned_tables(), &logger); });
    show_tables(files.tables(), diagnosis);
  });
  for (const Target& device : diagnosis->devices) {
    const auto& found = diagnosis->found["tuned"];
    if (std::any_of(found.begin(), found.end(),
                    [&](const auto& table) { return table["gpu"] == tuned_gpu(device); })) {
      continue;
    }
    diagnosis->notes.push_back(
        {"tuned tables",
         fmt::format("none is of {}: kernels are chosen by predicted times; heddle tune "
                     "--calibrate makes a table",
                     device.name),
         ""});
  }
}

}  // namespace heddle
