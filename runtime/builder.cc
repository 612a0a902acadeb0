#include "runtime/builder.h"

#include <fmt/core.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "heddle/error.h"
#include "runtime/build_pool.h"

namespace heddle {
namespace {

CacheOptions cache_options(const RuntimeOptions& options, Logger* logger) {
  CacheOptions cache;
  cache.dir = options.cache_dir;
  cache.disk = options.disk_cache;
  cache.max_bytes = options.cache_max_bytes;
  cache.warn = [logger](const std::string& text) { logger->log(LogLevel::kWarning, text); };
  return cache;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

Builder::Builder(const RuntimeOptions& options, Logger* logger)
    : logger_(logger), jobs_(pool_size(options.jobs)), cache_(cache_options(options, logger)) {}

CacheKey Builder::key_of(const Source& source, const std::string& compiler) const {
  CacheKey key;
  key.source_text = source.text;
  key.file_name = source.file_name;
  key.kernel_name = source.kernel_name;
  key.arch = source.arch;
  key.options = compile_options_text(source.arch);
  key.compiler = compiler;
  return key;
}

Binary Builder::compile(const Source& source) {
  std::string warnings;
  Binary binary = nvrtc_.compile(source, &warnings);
  if (!warnings.empty()) {
    logger_->log(LogLevel::kWarning, fmt::format("NVRTC on {}: {}", source.kernel_name, warnings));
  }
  logger_->log(LogLevel::kInfo, fmt::format("compiled {} for {} in {:.0f} ms", source.kernel_name,
                                            source.arch, binary.compile_ms));
  return binary;
}

BuildResult Builder::build_one(const Source& source, const std::string& compiler) {
  const CacheKey key = key_of(source, compiler);
  BuildResult result;
  result.kernel_name = source.kernel_name;
  result.key = key.id();
  result.binary = cache_.get_or_make(
      key, [&] { return compile(source); }, &result.hit);
  return result;
}

// Without NVRTC a cached binary of any compiler is better than none.
BuildResult Builder::find_without_compiler(const Source& source, const Error& why) {
  const CacheKey key = key_of(source, "");
  BuildResult result;
  result.kernel_name = source.kernel_name;
  result.binary = cache_.find_any_compiler(key);
  if (result.binary == nullptr) {
    throw Error(why.category(), why.code(),
                fmt::format("{} is not in the cache and must be compiled, but {}",
                            source.kernel_name, why.what()));
  }
  result.key = key_of(source, result.binary->compiler).id();
  result.hit = true;
  return result;
}

std::vector<BuildResult> Builder::build(const std::vector<Source>& sources,
                                        const BuildProgress& progress) {
  std::optional<Error> no_compiler;
  std::string compiler;
  try {
    compiler = nvrtc_.identity();
  } catch (const Error& error) {
    if (error.code() != "nvrtc.missing") throw;
    no_compiler = error;
  }
  std::vector<BuildResult> results(sources.size());
  std::mutex progress_mutex;
  std::size_t done = 0;
  run_jobs(sources.size(), jobs_, [&](std::size_t index) {
    const auto start = std::chrono::steady_clock::now();
    BuildResult result = no_compiler ? find_without_compiler(sources[index], *no_compiler)
                                     : build_one(sources[index], compiler);
    result.ms = milliseconds_since(start);
    results[index] = std::move(result);
    const std::lock_guard<std::mutex> lock(progress_mutex);
    ++done;
    if (progress) progress(results[index], done, sources.size());
  });
  return results;
}

std::shared_ptr<const Binary> Builder::rebuild(const Source& source,
                                               const std::shared_ptr<const Binary>& refused) {
  return cache_.remake(key_of(source, nvrtc_.identity()), refused, [&] { return compile(source); });
}

}  // namespace heddle
