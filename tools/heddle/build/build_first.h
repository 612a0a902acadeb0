// heddle build --first: the kernels that decoding needs, before all others.
#ifndef HEDDLE_TOOLS_HEDDLE_BUILD_BUILD_FIRST_H_
#define HEDDLE_TOOLS_HEDDLE_BUILD_BUILD_FIRST_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heddle/inspect/source.h"
#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/heddle/build/build_report.h"

namespace CLI {
class App;
}

namespace heddle {

void add_first_option(CLI::App& command, std::optional<std::string>* range);

// "1-16", or "1" for one M alone. Throws Error(kUsage, "tool.first") for other texts.
MRange parse_first(const std::string& text);

// Throws Error(kUsage, "tool.first") if no operation has such an M.
void check_first(const std::vector<BuiltOperation>& operations, const MRange& urgent);

// What Runtime::prepare() with this urgent range makes before it returns: a source for each
// different kernel that M in the range need or that the runtime's cache has, and the general
// kernels that serve other M of specs of which the cache lacks kernels.
struct FirstSources {
  std::vector<Source> sources;
  std::size_t general = 0;  // how many of them are general kernels
};
FirstSources first_sources(const std::vector<BuiltOperation>& operations, const MRange& urgent,
                           Runtime* runtime);

// Wall time, and processor time of the process, since it was made.
class Stopwatch {
 public:
  Stopwatch();
  double wall_ms() const;
  double processor_ms() const;

 private:
  double wall_begin_;
  double processor_begin_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_BUILD_BUILD_FIRST_H_
