// From specs and GPUs to a bundle: plan, render each source once, build, write.
#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/entry.h"
#include "generator/render/source_list.h"
#include "generator/spec/error_place.h"
#include "heddle/bundle.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "runtime/compile/builder.h"
#include "runtime/tables/bundle_file.h"
#include "runtime/tables/bundled_tables.h"

namespace heddle {
namespace {

// Sources, and for each the GPUs of the targets that it is rendered for.
struct PlannedSources {
  std::vector<Source> sources;
  std::vector<GpuNames> gpus;
};

// The sources of all requests, each once. A bundle that lacks kernels is not written.
PlannedSources render_requests(const std::vector<BundleRequest>& requests,
                               const TunedTables& tables) {
  SourceList list;
  std::vector<GpuNames> gpus;
  std::vector<Problem> problems;
  for (const auto& [spec, target] : requests) {
    try {
      for (Source& source : render_all(resolve(spec, target, tables))) {
        const std::size_t place = list.add(std::move(source));
        gpus.resize(list.size());
        gpus[place].push_back(tuned_gpu(target));
      }
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kUnsupported) throw;
      const Error placed = at_place(target.name, error);
      problems.insert(problems.end(), placed.problems().begin(), placed.problems().end());
    }
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kUnsupported, "bundle.lacks_kernels", std::move(problems));
  }
  return {list.take(), std::move(gpus)};
}

BundleEntry entry_of(const Source& source, GpuNames gpus, Binary binary) {
  binary.compile_ms = 0;  // so that the bundle's bytes do not depend on the machine
  SerialKey key = serialize(cache_key(source, binary.compiler));
  return {std::move(key), std::move(binary), std::move(gpus)};
}

// A kernel of a bundle that was made without texts has none to give on, also where it was extracted
// to a folder.
void check_texts(const std::vector<BundleEntry>& entries) {
  std::vector<Problem> problems;
  for (const BundleEntry& entry : entries) {
    if (!entry.binary.ptx.empty()) continue;
    problems.push_back({"",
                        fmt::format("{} was found in the cache without its PTX: a bundle made with "
                                    "--no-source brought it there; write this one with "
                                    "--no-source, too, or compile with another --cache",
                                    entry.binary.kernel_name),
                        "", "", ""});
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kMissing, "bundle.no_texts", std::move(problems));
  }
}

}  // namespace

BundleReport write_bundle(Runtime& runtime, const std::string& path,
                          const std::vector<BundleRequest>& requests, bool texts,
                          const PrepareProgress& progress) {
  check_bundle_name(path);
  if (requests.empty()) {
    throw Error(ErrorCategory::kUsage, "bundle.no_specs",
                "a bundle wants a spec and a target at least");
  }
  PlannedSources planned = render_requests(requests, runtime.tuned_tables());
  std::set<std::string> gpus;
  for (const BundleRequest& request : requests) gpus.insert(tuned_gpu(request.target));
  BundleReport report;
  report.tables = tables_to_bundle(runtime.tuned_tables(), gpus);
  const auto built = runtime.build_cancellable(planned.sources, progress);
  std::vector<BundleEntry> entries;
  for (std::size_t i = 0; i < built.size(); ++i) {
    entries.push_back(entry_of(planned.sources[i], std::move(planned.gpus[i]), *built[i].binary));
  }
  if (texts) check_texts(entries);
  report.kernels = entries.size();
  report.bytes = write_bundle_file(path, std::move(entries), report.tables,
                                   texts ? BundleTexts::kWith : BundleTexts::kWithout);
  return report;
}

}  // namespace heddle
