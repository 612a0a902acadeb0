#include "runtime/statistics_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>

#include "cache/file_io.h"
#include "cache/new_file.h"
#include "heddle/error.h"
#include "heddle/statistics.h"

namespace heddle {
namespace {

constexpr mode_t kStatisticsMode = 0666;  // less the umask

struct StatisticsFile {
  std::mutex mutex;
  std::string path;  // absolute; guarded by mutex, as is the next
  pid_t process = 0;
};

// Never destroyed: it is asked for while the process exits.
StatisticsFile& statistics_file() {
  static StatisticsFile& file = *new StatisticsFile;
  return file;
}

void write_statistics(const std::string& path) {
  const std::string text = statistics_to_json(statistics()) + '\n';
  const int error = write_new_file(path, kStatisticsMode, text);
  if (error == 0) return;
  throw Error(ErrorCategory::kFile,
              is_storage_error(-error) ? "statistics.unfinished" : "statistics.unwritable",
              fmt::format("cannot write {}: {}; HEDDLE_STATS names the file that statistics are "
                          "written to: name one that can be written, or unset it",
                          path, new_file_error_text(-error)));
}

void write_at_exit() {
  StatisticsFile& file = statistics_file();
  if (file.process != ::getpid()) return;
  try {
    write_statistics(file.path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heddle: %s\n", error.what());
  }
}

std::string statistics_path(const Environment& environment) {
  const char* const value = environment("HEDDLE_STATS");
  return value == nullptr || *value == '\0' ? std::string() : absolute_path(value);
}

}  // namespace

void write_statistics_at_exit(const Environment& environment) {
  const std::string path = statistics_path(environment);
  if (path.empty()) return;
  StatisticsFile& file = statistics_file();
  const std::lock_guard<std::mutex> lock(file.mutex);
  if (file.process == ::getpid() && file.path == path) return;
  write_statistics(path);
  if (file.process == 0) std::atexit(write_at_exit);
  file.path = path;
  file.process = ::getpid();
}

}  // namespace heddle
