// heddle bundle list, verify and extract: what reads one bundle.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cache/disk_cache.h"
#include "cache/entry.h"
#include "heddle/error.h"
#include "runtime/tables/bundle_file.h"
#include "tools/heddle/cache/bundle_parts.h"
#include "tools/heddle/cache/bundle_tables.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/printable.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

// "h100, h200"; "-" where the bundle does not say it.
std::string gpus_text(const GpuNames& gpus) {
  std::string text;
  for (const std::string& name : gpus) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "-" : text;
}

// The spec that the kernel was rendered for, as the banner of its CUDA text has it; empty where the
// bundle holds no texts.
std::string spec_in_banner(const std::string& source) {
  constexpr std::string_view kLabel = "\n// spec:";
  const std::size_t label = source.find(kLabel);
  if (label == std::string::npos) return {};
  const std::size_t begin = source.find_first_not_of(' ', label + kLabel.size());
  return source.substr(begin, source.find('\n', begin) - begin);
}

// By the entry's id; `report` tells what cannot be read.
std::map<std::string, std::string> specs_in(Bundle* bundle, VerifyReport* report) {
  std::map<std::string, std::string> specs;
  *report = bundle->for_each([&](const BundleEntry& entry) {
    specs[entry.key.digests.id()] = spec_in_banner(entry.key.source);
  });
  return specs;
}

// A line for each spec, with how many kernels it has.
std::string specs_text(const std::map<std::string, std::string>& specs) {
  std::map<std::string, std::size_t> kernels;
  for (const auto& [id, spec] : specs) ++kernels[spec];
  std::string text;
  for (const auto& [spec, count] : kernels) {
    text += spec.empty() ? fmt::format(
                               "{} of specs that the bundle, made with --no-source, does "
                               "not name\n",
                               count_text(count, "kernel"))
                         : fmt::format("{} of {}\n", count_text(count, "kernel"), spec);
  }
  return text;
}

ordered_json entry_json(const EntryInfo& entry, const std::string& spec) {
  return {{"key", entry.id},
          {"spec", spec.empty() ? ordered_json() : ordered_json::parse(spec, nullptr, false)},
          {"kernel", entry.kernel_name},
          {"arch", entry.arch},
          {"gpus", entry.gpus},
          {"compiler", entry.compiler},
          {"cubin_bytes", entry.cubin_bytes},
          {"stored_bytes", entry.file_bytes},
          {"ptx_bytes", entry.ptx_bytes},
          {"source", entry.has_source}};
}

ordered_json problems_json(const VerifyReport& report) {
  auto problems = ordered_json::array();
  for (const auto& problem : report.problems) {
    problems.push_back({{"key", problem.file}, {"why", problem.why}});
  }
  return problems;
}

void print_damaged(const VerifyReport& report) {
  for (const auto& problem : report.problems) {
    print_problem(fmt::format("{}: {}", problem.file, problem.why));
  }
}

}  // namespace

int list_bundle(const BundleFileOptions& options) {
  Bundle bundle(options.file);
  check_readable(&bundle, options.file);
  const TunedTables tables = read_tables(&bundle, options.file);
  const std::vector<EntryInfo> entries = bundle.list();
  VerifyReport report;
  const std::map<std::string, std::string> specs = specs_in(&bundle, &report);
  if (options.json) {
    auto rows = ordered_json::array();
    for (const EntryInfo& entry : entries) {
      const auto spec = specs.find(entry.id);
      rows.push_back(entry_json(entry, spec == specs.end() ? std::string() : spec->second));
    }
    print_json({{"bundle", options.file},
                {"bytes", bundle.bytes()},
                {"entries", rows},
                {"unreadable", problems_json(report)},
                {"tables", tables_json(tables)}});
    flush_output();
    print_damaged(report);
    return kExitDone;
  }
  Table table({{"KERNEL"},
               {"ARCH"},
               {"PLANNED FOR"},
               {"CUBIN", Align::kRight},
               {"STORED", Align::kRight},
               {"SOURCE"},
               {"COMPILER"},
               {"KEY"}});
  for (const EntryInfo& entry : entries) {
    table.add_row({entry.kernel_name, entry.arch, gpus_text(entry.gpus),
                   fmt::format("{}", entry.cubin_bytes), fmt::format("{}", entry.file_bytes),
                   entry.has_source ? "yes" : "no", entry.compiler, entry.id.substr(0, 16)});
  }
  print((entries.empty() ? std::string() : table.text()) + specs_text(specs) + tables_text(tables) +
        (report.damaged == 0 ? std::string() : fmt::format("{} damaged, ", report.damaged)) +
        fmt::format("{}, {} bytes in {}\n", count_text(entries.size(), "kernel"), bundle.bytes(),
                    printable(options.file)));
  flush_output();
  print_damaged(report);
  return kExitDone;
}

int verify_bundle(const BundleFileOptions& options) {
  Bundle bundle(options.file);
  TunedTables tables;
  try {
    check_readable(&bundle, options.file);
    tables = read_tables(&bundle, options.file);
  } catch (const Error& error) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(options.file, none)) throw;
    report(error);
    return kExitFailed;  // a damaged bundle, as it is where a kernel is damaged
  }
  const VerifyReport report = bundle.verify();
  if (options.json) {
    print_json({{"bundle", options.file},
                {"good", report.good},
                {"damaged", report.damaged},
                {"problems", problems_json(report)},
                {"tables", tables_json(tables)}});
  } else {
    print(tables_text(tables) + fmt::format("{} good, {} damaged in {}\n", report.good,
                                            report.damaged, printable(options.file)));
  }
  flush_output();
  print_damaged(report);
  return report.damaged == 0 ? kExitDone : kExitFailed;
}

int extract_bundle(const BundleFileOptions& options) {
  Bundle bundle(options.file);
  check_readable(&bundle, options.file);
  const TunedTables tables = read_tables(&bundle, options.file);
  DiskCacheOptions disk;
  disk.root = options.output;
  disk.max_bytes = 0;
  std::string why = "an entry could not be stored";
  disk.warn = [&why](const std::string& reason) { why = reason; };
  DiskCache cache(std::move(disk));
  std::size_t stored = 0;
  std::size_t failed = 0;
  std::size_t without_texts = 0;
  std::size_t kept = 0;
  const VerifyReport report = bundle.for_each([&](const BundleEntry& entry) {
    const bool is_bare = entry.key.source.empty() || entry.binary.ptx.empty();
    if (is_bare && cache.has_texts(entry.key.digests)) {
      ++kept;
      return;
    }
    without_texts += is_bare ? 1 : 0;
    const Bytes bytes = encode_entry(entry.key, entry.binary);
    (cache.store(entry.key.digests, bytes) ? stored : failed) += 1;
  });
  if (failed > 0) throw Error(ErrorCategory::kFile, "tool.unwritable", why);
  const std::vector<std::string> files = write_tables(tables, options.tables);
  if (options.json) {
    print_json({{"bundle", options.file},
                {"root", options.output},
                {"kernels", stored},
                {"kept", kept},
                {"tables", files}});
  } else {
    for (const std::string& file : files)
      print(fmt::format("tuned table to {}\n", printable(file)));
    print(fmt::format("{} to {}\n", count_text(stored, "kernel"), printable(options.output)));
  }
  flush_output();
  if (without_texts > 0) {
    print_problem(
        fmt::format("note: {} kernels have no CUDA text and no PTX, because the bundle "
                    "was made with --no-source; they serve all the same",
                    without_texts));
  }
  if (kept > 0) {
    print_problem(
        fmt::format("note: {} more kernels were in {} already, with their CUDA text and PTX, and "
                    "stay as they are",
                    kept, options.output));
  }
  print_damaged(report);
  return report.damaged == 0 ? kExitDone : kExitFailed;
}

}  // namespace heddle
