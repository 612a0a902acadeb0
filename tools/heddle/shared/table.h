// A table of text in columns that are as wide as they must be.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_TABLE_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_TABLE_H_

#include <string>
#include <vector>

namespace heddle {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  // Precondition: as many cells as columns. What could break a line or disturb a terminal is
  // escaped.
  void add_row(std::vector<std::string> cells);
  // A line of titles, then one for each row; no trailing spaces.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_TABLE_H_
