// heddle cache: what the folder of compiled kernels holds, whether it is sound, and emptying it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache_roots.h"
#include "cache/disk_cache.h"
#include "heddle/error.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/printable.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

struct CacheCommandOptions {
  std::string dir;
  bool json = false;
};

// To a runtime such a folder is as good as an empty one; who asks for it by name wants to know.
[[noreturn]] void refuse_root(const std::string& root, const std::string& why) {
  std::error_code ignored;
  const bool is_bundle = std::filesystem::is_regular_file(root, ignored) || root.ends_with(".hdl");
  throw Error(ErrorCategory::kFile, "tool.cache_folder",
              why + (is_bundle ? "; heddle bundle list and verify read bundles" : ""));
}

// The default folder is made when the first kernel is stored. One that somebody named and that is
// not there is a mistake in its name: a check of it has checked nothing.
void require_named_root(const CacheCommandOptions& options, const std::string& root) {
  const char* const named = process_environment("HEDDLE_CACHE");
  if (options.dir.empty() && (named == nullptr || *named == '\0')) return;
  std::error_code ignored;
  if (std::filesystem::exists(root, ignored)) return;
  refuse_root(root, fmt::format("there is no cache {}", printable(root)));
}

DiskCache open_cache(const CacheCommandOptions& options) {
  std::string root = resolve_cache_roots(options.dir).writable;
  if (root.empty()) {
    throw Error(ErrorCategory::kUsage, "tool.no_cache_dir",
                "heddle cache is of the folder that kernels are stored in, and there is none among "
                "these layers: name a folder without ro:, as in --cache DIR or HEDDLE_CACHE=DIR");
  }
  DiskCacheOptions disk;
  disk.root = root;
  disk.warn = [root](const std::string& why) { refuse_root(root, why); };
  return DiskCache(std::move(disk));
}

ordered_json to_json(const EntryInfo& entry) {
  return {{"key", entry.id},
          {"kernel", entry.kernel_name},
          {"arch", entry.arch},
          {"compiler", entry.compiler},
          {"file_bytes", entry.file_bytes},
          {"cubin_bytes", entry.cubin_bytes},
          {"age_s", entry.age_s}};
}

ordered_json to_json(const std::vector<VerifyReport::Problem>& problems) {
  auto list = ordered_json::array();
  for (const auto& [file, why] : problems) list.push_back({{"file", file}, {"why", why}});
  return list;
}

void print_problems(const std::vector<VerifyReport::Problem>& problems) {
  for (const auto& [file, why] : problems) print_problem(fmt::format("{}: {}", file, why));
}

std::string entries_text(const std::vector<EntryInfo>& entries, std::size_t unreadable,
                         const std::string& root) {
  Table table({{"KERNEL"},
               {"ARCH"},
               {"CUBIN", Align::kRight},
               {"FILE", Align::kRight},
               {"UNUSED FOR", Align::kRight},
               {"KEY"}});
  std::uint64_t bytes = 0;
  for (const EntryInfo& entry : entries) {
    bytes += entry.file_bytes;
    table.add_row({entry.kernel_name, entry.arch, fmt::format("{}", entry.cubin_bytes),
                   fmt::format("{}", entry.file_bytes), fmt::format("{} s", entry.age_s),
                   entry.id.substr(0, 16)});
  }
  return (entries.empty() ? std::string() : table.text()) +
         (unreadable == 0 ? std::string() : fmt::format("{} cannot be read, ", unreadable)) +
         fmt::format("{} entries, {} bytes in {}\n", entries.size(), bytes, printable(root));
}

int list(const CacheCommandOptions& options) {
  DiskCache cache = open_cache(options);
  std::vector<VerifyReport::Problem> unreadable;
  const std::vector<EntryInfo> entries = cache.list(&unreadable);
  if (options.json) {
    auto rows = ordered_json::array();
    for (const EntryInfo& entry : entries) rows.push_back(to_json(entry));
    print_json({{"root", cache.root()}, {"entries", rows}, {"unreadable", to_json(unreadable)}});
  } else {
    print(entries_text(entries, unreadable.size(), cache.root()));
  }
  flush_output();
  print_problems(unreadable);
  return kExitDone;
}

// Damage is a failure of what was checked, so a script sees it in the exit code.
int verify(const CacheCommandOptions& options) {
  DiskCache cache = open_cache(options);
  require_named_root(options, cache.root());
  const VerifyReport report = cache.verify();
  if (options.json) {
    print_json({{"root", cache.root()},
                {"good", report.good},
                {"damaged", report.damaged},
                {"problems", to_json(report.problems)}});
  } else {
    print(fmt::format("{} good, {} damaged in {}\n", report.good, report.damaged,
                      printable(cache.root())));
  }
  flush_output();
  print_problems(report.problems);
  return report.damaged == 0 ? kExitDone : kExitFailed;
}

int clear(const CacheCommandOptions& options) {
  DiskCache cache = open_cache(options);
  const std::size_t removed = cache.clear();
  if (options.json) {
    print_json({{"root", cache.root()}, {"removed", removed}});
  } else {
    print(fmt::format("{} entries removed from {}\n", removed, printable(cache.root())));
  }
  return kExitDone;
}

void add_part(CLI::App& parent, Action* action, const std::string& name, const std::string& help,
              int (*work)(const CacheCommandOptions&)) {
  auto options = std::make_shared<CacheCommandOptions>();
  CLI::App* command = parent.add_subcommand(name, help);
  add_cache_option(*command, &options->dir);
  add_json_option(*command, &options->json);
  command->footer(fmt::format("Example:\n  heddle cache {}", name));
  command->callback([=] { *action = [options, work] { return work(*options); }; });
}

}  // namespace

void add_cache_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("cache", "List, verify or clear the compiled kernels");
  command->require_subcommand(1);
  command->footer("Example:\n  heddle cache list");
  add_part(*command, action, "list",
           "List the entries, and those that cannot be read, which are no failure", list);
  add_part(
      *command, action, "verify",
      "Read every entry and check it; exit code 1 on damage, 2 if --cache or HEDDLE_CACHE names "
      "no folder",
      verify);
  add_part(*command, action, "clear", "Delete every entry", clear);
}

}  // namespace heddle
