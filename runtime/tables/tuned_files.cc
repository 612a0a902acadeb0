#include "runtime/tables/tuned_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "cache/file_io.h"
#include "generator/null_byte.h"
#include "heddle/error.h"
#include "runtime/tables/bundled_tables.h"

namespace heddle {
namespace {

constexpr std::string_view kNone = "none";
// More than any table that could be read.
constexpr std::size_t kMostBytes = std::size_t{17} << 20;

}  // namespace

std::string read_table_text(const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCategory::kFile, "tuned.unreadable",
                fmt::format("cannot read the tuned table {}: {}", name, why));
  };
  FileSystem& files = posix_file_system();
  // O_NONBLOCK: opening a pipe that nobody writes must not hang.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const Fd fd(&files, retry_interrupted([&] { return files.open(AT_FDCWD, name, flags, 0); }));
  if (!fd) refuse(error_text(fd.error()));
  FileInfo info;
  if (const int error = files.stat(fd.get(), &info); error < 0) refuse(error_text(-error));
  if (!S_ISREG(info.mode)) refuse("not a regular file");
  if (info.size > kMostBytes) refuse(error_text(EFBIG));
  std::string text(info.size, '\0');
  if (const int error = read_all(files, fd.get(), text.data(), text.size()); error < 0) {
    refuse(error_text(-error));
  }
  return text;
}

TunedTable read_table_file(const std::string& name) {
  try {
    return TunedTable::parse(read_table_text(name));
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::kSpec) throw;
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems) {
      problem.pointer =
          problem.pointer.empty() ? name : fmt::format("{}: {}", name, problem.pointer);
    }
    throw Error(error.category(), error.code(), std::move(problems));
  }
}

TunedFiles::List TunedFiles::parse(std::string_view text) {
  List list;
  if (text.empty()) return list;
  refuse_null_byte(text, "tuned_tables");
  for (bool is_first = true;; is_first = false) {
    const std::string_view name = text.substr(0, text.find(':'));
    if (name.empty()) {
      throw Error(ErrorCategory::kUsage, "tuned.list",
                  "a list of tuned tables has an empty name; write names of files with colons in "
                  "between, or \"none\"");
    }
    if (is_first && name == kNone) {
      list.with_others = false;
    } else {
      list.files.push_back(absolute_path(name));
    }
    if (name.size() == text.size()) return list;
    text.remove_prefix(name.size() + 1);
  }
}

TunedFiles::TunedFiles(const std::string& list, Bundled bundled, const Environment& environment)
    : bundled_(std::move(bundled)), environment_(environment) {
  replace(list);
}

void TunedFiles::replace(const std::string& list) {
  const char* const variable = list.empty() ? environment_("HEDDLE_TUNED") : nullptr;
  List parsed = parse(variable != nullptr ? variable : list);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tables_) {
    throw Error(ErrorCategory::kUsage, "tuned.in_use",
                "the tuned tables cannot be changed: kernels were planned with them");
  }
  list_ = std::move(parsed);
}

std::vector<std::string> TunedFiles::named() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return list_.files;
}

const TunedTables& TunedFiles::tables() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!tables_) {
    std::vector<TunedTable> named;
    for (const std::string& name : list_.files) named.push_back(read_table_file(name));
    // Nothing below throws for what a file holds, so that the bundles are asked once.
    TunedTables tables = list_.with_others ? in_place_of_shipped(bundled_()) : TunedTables();
    for (const TunedTable& table : named) tables.add(table);
    tables_ = std::move(tables);
  }
  return *tables_;
}

}  // namespace heddle
