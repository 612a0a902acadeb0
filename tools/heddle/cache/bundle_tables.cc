#include "tools/heddle/cache/bundle_tables.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tools/heddle/run/tuned_file.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

// The name that the file of a GPU's table gets: that of the GPU, without what parts folders.
std::string file_name_of(const std::string& gpu) {
  std::string name;
  for (const char c : gpu) name += c == '/' ? "%2f" : c == '%' ? "%25" : std::string(1, c);
  return name + ".json";
}

}  // namespace

ordered_json tables_json(const TunedTables& tables) {
  auto rows = ordered_json::array();
  for (const TunedTable& table : tables.tables()) {
    auto costs = ordered_json::array();
    for (const TunedCosts& one : table.costs()) costs.push_back(one.family);
    rows.push_back(
        {{"gpu", table.gpu()}, {"entries", table.entries().size()}, {"costs", std::move(costs)}});
  }
  return rows;
}

std::string tables_text(const TunedTables& tables) {
  std::string text;
  for (const TunedTable& table : tables.tables()) {
    std::string costs;
    for (const TunedCosts& one : table.costs()) {
      costs += fmt::format("{} {}", costs.empty() ? ", costs of" : ",", one.family);
    }
    text += fmt::format("tuned table of {}, {} entries{}\n", table.gpu(), table.entries().size(),
                        costs);
  }
  return text;
}

std::vector<std::string> write_tables(const TunedTables& tables, const std::string& folder) {
  if (tables.tables().empty()) return {};
  if (folder.empty()) {
    print_problem(
        "note: the kernels were planned with the bundle's tuned tables, which a cache "
        "folder does not hold; --tables DIR writes them as files for HEDDLE_TUNED");
    return {};
  }
  std::error_code none;
  std::filesystem::create_directories(folder, none);  // what fails is told with the first file
  std::vector<std::string> files;
  for (const TunedTable& table : tables.tables()) {
    files.push_back((std::filesystem::path(folder) / file_name_of(table.gpu())).string());
    write_tuned_file(files.back(), table);
  }
  return files;
}

}  // namespace heddle
