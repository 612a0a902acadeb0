// What heddle bundle create and merge have in common: telling what was written.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/heddle/cache/bundle_parts.h"
#include "tools/heddle/cache/bundle_tables.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/printable.h"

namespace heddle {

void print_written(const std::string& output, const BundleReport& written,
                   const std::vector<std::string>* unused, bool json) {
  if (json) {
    nlohmann::ordered_json report = {{"bundle", output},
                                     {"kernels", written.kernels},
                                     {"bytes", written.bytes},
                                     {"tables", tables_json(written.tables)}};
    if (unused != nullptr) report["unused"] = *unused;
    print_json(report);
  } else {
    print(tables_text(written.tables) + fmt::format("{}, {} bytes in {}\n",
                                                    count_text(written.kernels, "kernel"),
                                                    written.bytes, printable(output)));
  }
  flush_output();
}

}  // namespace heddle
