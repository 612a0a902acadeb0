#include "runtime/tables/bundle_file.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "cache/file_io.h"
#include "cache/new_file.h"
#include "generator/null_byte.h"
#include "heddle/bundle.h"
#include "heddle/error.h"
#include "runtime/tables/bundled_tables.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(ErrorCategory category, const char* code, std::string message) {
  throw Error(category, code, std::move(message));
}

std::vector<std::string> texts_of(const TunedTables& tables) {
  std::vector<std::string> texts;
  for (const TunedTable& table : tables.tables()) texts.push_back(table.to_json());
  if (const std::size_t bytes = encode_bundle_tables(texts).size(); bytes > kBundleMaxTablesBytes) {
    refuse(ErrorCategory::kUnsupported, "bundle.too_large",
           fmt::format("the tuned tables have {} bytes, and a bundle has room for {}", bytes,
                       kBundleMaxTablesBytes));
  }
  return texts;
}

Bytes encode(const std::string& path, std::vector<BundleEntry> entries, const TunedTables& tables,
             BundleTexts texts) {
  try {
    return encode_bundle(std::move(entries), texts_of(tables), texts);
  } catch (const std::length_error& error) {
    refuse(ErrorCategory::kUnsupported, "bundle.too_large",
           fmt::format("cannot write {}: {}", path, error.what()));
  }
}

// What is wrong, on one line.
std::string one_line(const Error& error) {
  std::string line;
  for (const Problem& problem : error.problems()) {
    line += (line.empty() ? "" : "; ") + problem.message;
  }
  return line;
}

}  // namespace

void check_bundle_name(const std::string& name) {
  refuse_null_byte(name, "path");
  if (is_bundle_name(name)) return;
  refuse(ErrorCategory::kUsage, "bundle.name",
         fmt::format("\"{}\": the name of a bundle ends in .hdl", name));
}

std::uint64_t write_bundle_file(const std::string& path, std::vector<BundleEntry> entries,
                                const TunedTables& tables, BundleTexts texts) {
  const Bytes bytes = encode(path, std::move(entries), tables, texts);
  const int error = publish_bundle(path, bytes);
  if (error < 0) {
    refuse(ErrorCategory::kFile,
           is_storage_error(-error) ? "bundle.unfinished" : "bundle.unwritable",
           fmt::format("cannot write {}: {}", path, new_file_error_text(-error)));
  }
  return bytes.size();
}

void check_readable(Bundle* bundle, const std::string& path) {
  const std::string problem = bundle->problem();
  if (problem.empty()) return;
  refuse(ErrorCategory::kFile, "bundle.unusable",
         fmt::format("cannot use bundle {}: {}", path, problem));
}

TunedTables read_tables(Bundle* bundle, const std::string& path) {
  try {
    return parse_bundled_tables(bundle->tuned_tables().texts);
  } catch (const Error& error) {
    refuse(ErrorCategory::kFile, "bundle.unusable",
           fmt::format("cannot use the tuned tables of bundle {}: {}", path, one_line(error)));
  }
}

BundleContents read_bundle(const std::string& path) {
  refuse_null_byte(path, "path");
  Bundle bundle(path);
  check_readable(&bundle, path);
  BundleContents contents;
  contents.bytes = bundle.bytes();
  contents.tables = read_tables(&bundle, path);
  std::vector<VerifyReport::Problem> unreadable;
  for (EntryInfo& entry : bundle.list(&unreadable)) {
    contents.kernels.push_back({std::move(entry.kernel_name), std::move(entry.id),
                                std::move(entry.arch), std::move(entry.compiler),
                                std::move(entry.gpus), entry.cubin_bytes, entry.file_bytes,
                                entry.has_source});
  }
  for (VerifyReport::Problem& problem : unreadable) {
    contents.damaged.push_back({std::move(problem.file), std::move(problem.why)});
  }
  return contents;
}

}  // namespace heddle
