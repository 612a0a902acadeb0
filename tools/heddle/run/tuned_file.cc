#include "tools/heddle/run/tuned_file.h"

#include <filesystem>
#include <system_error>

#include "checkpoint/files/file.h"
#include "heddle/error.h"
#include "runtime/tables/tuned_files.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {

std::optional<TunedTable> read_tuned_file(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return std::nullopt;
  const std::string text = read_table_text(path);
  try {
    return TunedTable::parse(text);
  } catch (const Error& error) {
    throw at_place(path, error);
  }
}

void write_tuned_file(const std::string& path, const TunedTable& table) {
  const std::string text = table.to_json();
  OutputFile file(path);
  file.write(0, text.data(), text.size());
  file.commit();
}

void check_tuned_file(const std::string& path) { const OutputFile unwritten(path); }

}  // namespace heddle
