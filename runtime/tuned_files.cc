#include "runtime/tuned_files.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "generator/null_byte.h"
#include "heddle/error.h"
#include "runtime/bundled_tables.h"

namespace heddle {
namespace {

constexpr std::string_view kNone = "none";
// More than any table that could be read; an endless file stops here.
constexpr std::size_t kMostBytes = std::size_t{17} << 20;

// So that a later chdir() does not make it another file.
std::string absolute(std::string_view name) {
  std::error_code error;
  const auto path = std::filesystem::absolute(name, error);
  return error ? std::string(name) : path.string();
}

[[noreturn]] void throw_unreadable(const std::string& name, int error) {
  throw Error(ErrorCategory::kFile, "tuned.unreadable",
              fmt::format("cannot read the tuned table {}: {}", name,
                          std::generic_category().message(error)));
}

std::string read_text(const std::string& name) {
  struct Closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(name.c_str(), "rbe"));
  if (file == nullptr) throw_unreadable(name, errno);
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), count);
    if (text.size() > kMostBytes) throw_unreadable(name, EFBIG);
  }
  // A directory can be opened, but not read.
  if (std::ferror(file.get()) != 0) throw_unreadable(name, errno);
  return text;
}

TunedTable read_table_file(const std::string& name) {
  try {
    return TunedTable::parse(read_text(name));
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

}  // namespace

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
      list.files.push_back(absolute(name));
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
