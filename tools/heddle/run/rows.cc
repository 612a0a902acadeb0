#include "tools/heddle/run/rows.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/heddle/shared/table.h"

namespace heddle {

using nlohmann::ordered_json;

std::vector<Cells> rows_of(const Harness& harness, const std::vector<Check>& checks,
                           const Plan& plan) {
  std::vector<Cells> rows;
  for (const Check& check : checks) {
    Cells cells = harness.cells(check, plan);
    cells.push_back(fact("guards_intact", check.guards_intact));
    cells.push_back(fact("passed", check.passed()));
    cells.push_back(word("", "RESULT", check.passed() ? "ok" : "WRONG"));
    rows.push_back(std::move(cells));
  }
  return rows;
}

std::string rows_text(const std::vector<Cells>& rows) {
  if (rows.empty()) return {};
  std::vector<Column> columns;
  for (const Cell& cell : rows.front()) {
    if (cell.heading.empty()) continue;
    columns.push_back({cell.heading, cell.is_word ? Align::kLeft : Align::kRight});
  }
  Table table(std::move(columns));
  for (const Cells& row : rows) {
    std::vector<std::string> texts;
    for (const Cell& cell : row) {
      if (!cell.heading.empty()) texts.push_back(cell.text);
    }
    table.add_row(std::move(texts));
  }
  return table.text();
}

ordered_json rows_json(const std::vector<Cells>& rows) {
  auto documents = ordered_json::array();
  for (const Cells& row : rows) {
    auto document = ordered_json::object();
    for (const Cell& cell : row) {
      if (!cell.key.empty()) document[cell.key] = cell.value;
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

std::string bench_text(const BenchReport& report) { return rows_text(report.rows) + report.legend; }

ordered_json bench_json(const BenchReport& report, const std::string& device) {
  ordered_json json = {{"device", device}};
  json.update(report.facts);
  json["benches"] = rows_json(report.rows);
  json.update(report.more);
  return json;
}

}  // namespace heddle
