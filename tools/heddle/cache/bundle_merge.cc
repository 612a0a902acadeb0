// heddle bundle merge: several bundles as one.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "heddle/error.h"
#include "runtime/tables/bundle_file.h"
#include "runtime/tables/merged_tables.h"
#include "tools/heddle/cache/bundle_parts.h"
#include "tools/heddle/cache/bundle_tables.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

bool same_code(const Binary& a, const Binary& b) {
  return a.kernel_name == b.kernel_name && a.arch == b.arch && a.compiler == b.compiler &&
         a.cubin == b.cubin && a.registers == b.registers && a.spill_bytes == b.spill_bytes &&
         a.local_bytes == b.local_bytes && a.static_shared_bytes == b.static_shared_bytes &&
         a.dynamic_shared_bytes == b.dynamic_shared_bytes && a.threads == b.threads;
}

// The kernels of all bundles, each once.
class MergedEntries {
 public:
  void add(BundleEntry entry, const std::string& file) {
    const auto [place, is_new] = places_.try_emplace(entry.key.id(), entries_.size());
    if (is_new) {
      entries_.push_back(std::move(entry));
      files_.push_back(file);
      return;
    }
    BundleEntry& known = entries_[place->second];
    if (known.key.digests != entry.key.digests || !same_code(known.binary, entry.binary)) {
      problems_.push_back(
          {"",
           fmt::format("{} of key {} has other code in {} than in {}", entry.binary.kernel_name,
                       entry.key.id(), file, files_[place->second]),
           "", "", ""});
      return;
    }
    // One of the two may have been made without texts.
    if (known.key.source.empty()) known.key.source = std::move(entry.key.source);
    if (known.binary.ptx.empty()) known.binary.ptx = std::move(entry.binary.ptx);
    known.gpus.insert(known.gpus.end(), entry.gpus.begin(), entry.gpus.end());
  }

  std::vector<BundleEntry> take() {
    if (problems_.empty()) return std::move(entries_);
    throw Error(ErrorCategory::kUnsupported, "bundle.contradicts", std::move(problems_));
  }

 private:
  std::map<std::string, std::size_t> places_;  // by id
  std::vector<BundleEntry> entries_;
  std::vector<std::string> files_;  // where each entry was seen first
  std::vector<Problem> problems_;
};

// Adds the kernels of a bundle, of which none may be damaged, and returns what it says of tables.
TablesOfBundle add_bundle(const std::string& file, MergedEntries* merged) {
  Bundle bundle(file);
  check_readable(&bundle, file);
  TablesOfBundle tables{file, read_tables(&bundle, file), {}};
  const VerifyReport report = bundle.for_each([&](BundleEntry entry) {
    for (const std::string& gpu : entry.gpus) tables.kernels[gpu].insert(entry.binary.kernel_name);
    if (entry.gpus.empty()) tables.kernels[""].insert(entry.binary.kernel_name);
    merged->add(std::move(entry), file);
  });
  std::vector<Problem> problems;
  for (const VerifyReport::Problem& problem : report.problems) {
    problems.push_back(
        {"", fmt::format("{}: {}: {}", printable(file), problem.file, problem.why), "", "", ""});
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kFile, "bundle.unusable", std::move(problems));
  }
  return tables;
}

}  // namespace

int merge_bundles(const BundleMergeOptions& options) {
  check_bundle_name(options.output);
  MergedEntries merged;
  std::vector<TablesOfBundle> tables;
  for (const std::string& file : options.files) tables.push_back(add_bundle(file, &merged));
  const TunedTables merged_tables = merge_bundled_tables(tables);
  std::vector<BundleEntry> entries = merged.take();
  BundleReport report;
  report.kernels = entries.size();
  report.tables = merged_tables;
  report.bytes =
      write_bundle_file(options.output, std::move(entries), merged_tables, BundleTexts::kWith);
  print_written(options.output, report, nullptr, options.json);
  return kExitDone;
}

}  // namespace heddle
