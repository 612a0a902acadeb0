// What heddle bundle create and merge have in common: writing a bundle.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "heddle/error.h"
#include "tools/heddle/bundle_parts.h"
#include "tools/heddle/bundle_tables.h"
#include "tools/heddle/output.h"
#include "tools/heddle/printable.h"

namespace heddle {

void check_bundle_name(const std::string& name) {
  if (is_bundle_name(name)) return;
  throw Error(ErrorCategory::kUsage, "tool.bundle_name",
              fmt::format("\"{}\": the name of a bundle ends in .hdl", name));
}

namespace {

Bytes encode(const std::string& output, std::vector<BundleEntry> entries, const TunedTables& tables,
             BundleTexts texts) {
  try {
    return encode_bundle(std::move(entries), texts_of(tables), texts);
  } catch (const std::length_error& error) {
    throw Error(ErrorCategory::kUnsupported, "tool.bundle_too_large",
                fmt::format("cannot write {}: {}", output, error.what()));
  }
}

}  // namespace

void write_bundle(const std::string& output, std::vector<BundleEntry> entries,
                  const TunedTables& tables, BundleTexts texts,
                  const std::vector<std::string>* unused, bool json) {
  const std::size_t count = entries.size();
  const Bytes bytes = encode(output, std::move(entries), tables, texts);
  const int error = publish_bundle(output, bytes);
  if (error < 0) {
    throw Error(ErrorCategory::kFile, "tool.unwritable",
                fmt::format("cannot write {}: {}", output, error_text(-error)));
  }
  if (json) {
    nlohmann::ordered_json report = {{"bundle", output},
                                     {"kernels", count},
                                     {"bytes", bytes.size()},
                                     {"tables", tables_json(tables)}};
    if (unused != nullptr) report["unused"] = *unused;
    print_json(report);
  } else {
    print(tables_text(tables) +
          fmt::format("{} kernels, {} bytes in {}\n", count, bytes.size(), printable(output)));
  }
  flush_output();
}

}  // namespace heddle
