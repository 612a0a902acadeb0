// Builder: from sources to binaries, through the cache and the compiler.
#ifndef HEDDLE_RUNTIME_COMPILE_BUILDER_H_
#define HEDDLE_RUNTIME_COMPILE_BUILDER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "heddle/error.h"
#include "heddle/runtime.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/dump.h"
#include "runtime/logger.h"

namespace heddle {

// What the cache knows a source by.
CacheKey cache_key(const Source& source, const std::string& compiler);

// Any thread may call any function. Touches no GPU.
class Builder {
 public:
  // `logger` must outlive the builder.
  Builder(const RuntimeOptions& options, Logger* logger);

  // Does what Runtime::build does. Once stopped() (may be empty; any thread calls it) is true, it
  // begins nothing more and throws Error(kCancelled, "runtime.cancelled").
  std::vector<BuildResult> build(const std::vector<Source>& sources, const BuildProgress& progress,
                                 const std::function<bool()>& stopped = {});

  // Does what Runtime::find does.
  std::vector<BuildResult> find(const std::vector<Source>& sources);

  // Compiles although the cache has an entry, and replaces it: the driver refused its binary.
  // Not in strict mode.
  std::shared_ptr<const Binary> rebuild(const Source& source,
                                        const std::shared_ptr<const Binary>& refused);

  // The tuned tables of the cache's bundles, in the order of the bundles.
  std::vector<LayerTables> bundled_tables() { return cache_.tuned_tables(); }

  Nvrtc& nvrtc() { return nvrtc_; }
  bool strict() const { return strict_; }

 private:
  // NVRTC's identity; nothing in strict mode, which asks for none, and, with the reason, where
  // there is no NVRTC.
  std::optional<std::string> compiler(std::optional<Error>* why_none);
  BuildResult build_one(const Source& source, const std::string& compiler);
  // Without a binary on a miss.
  BuildResult find_of_any_compiler(const Source& source);
  BuildResult find_without_compiler(const Source& source, const Error* why);
  Binary compile(const Source& source);

  Logger* logger_;
  int jobs_;
  bool strict_;
  Cache cache_;
  Nvrtc nvrtc_;
  Dump dump_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_BUILDER_H_
