#include "runtime/compile/builder.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "heddle/error.h"
#include "runtime/compile/build_pool.h"
#include "runtime/counters.h"

namespace heddle {
namespace {

CacheOptions cache_options(const RuntimeOptions& options, Logger* logger) {
  CacheOptions cache;
  cache.dir = options.cache_dir;
  cache.disk = options.disk_cache;
  cache.read_only_roots = options.read_only_roots;
  cache.max_bytes = options.cache_max_bytes;
  cache.warn = [logger](const std::string& text) { logger->log(LogLevel::kWarning, text); };
  return cache;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Digits of a key that messages and `heddle bundle list` show: of the part that the source decides.
constexpr std::size_t kKeyDigits = 16;

// Throws an error that names each kernel without a binary in `results`, and behind the first one of
// each spec that spec. A name may be one of several texts, so the key tells which is missing.
void refuse_missing(const std::vector<Source>& sources, const std::vector<BuildResult>& results,
                    Cache* cache) {
  const bool is_missing = std::any_of(results.begin(), results.end(),
                                      [](const BuildResult& one) { return one.binary == nullptr; });
  if (!is_missing) return;
  const std::vector<VerifyReport::Problem> damaged = cache->damaged();
  std::vector<Problem> problems;
  std::set<std::pair<std::string, std::string>> told;  // specs and targets
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (results[i].binary != nullptr) continue;
    const Source& source = sources[i];
    const std::string digest = cache_key(source, "").source_digest();
    const auto entry = std::find_if(
        damaged.begin(), damaged.end(),
        [&](const VerifyReport::Problem& one) { return one.file.find(digest) != one.file.npos; });
    std::string message = fmt::format(
        "{} (key {}) {}, and strict mode compiles nothing", source.kernel_name,
        digest.substr(0, kKeyDigits),
        entry == damaged.end() ? "is in no layer of the cache"
                               : fmt::format("has a damaged entry in the cache ({})", entry->why));
    if (!source.spec.empty() && told.emplace(source.spec, source.target).second) {
      message +=
          fmt::format("; add this spec for {} ({}): {}", source.target, source.arch, source.spec);
    }
    problems.push_back({"", std::move(message), "", "", ""});
  }
  throw Error(ErrorCategory::kMissing, "runtime.not_in_cache", std::move(problems));
}

}  // namespace

CacheKey cache_key(const Source& source, const std::string& compiler) {
  CacheKey key;
  key.source_text = source.text;
  key.file_name = source.file_name;
  key.kernel_name = source.kernel_name;
  key.arch = source.arch;
  key.options = compile_options_text(source.arch);
  key.compiler = compiler;
  return key;
}

Builder::Builder(const RuntimeOptions& options, Logger* logger)
    : logger_(logger),
      jobs_(pool_size(options.jobs)),
      strict_(options.strict),
      cache_(cache_options(options, logger)),
      nvrtc_(options.nvrtc_dir) {}

Binary Builder::compile(const Source& source) {
  std::string warnings;
  Binary binary = nvrtc_.compile(source, &warnings);
  if (!warnings.empty()) {
    logger_->log(LogLevel::kWarning, fmt::format("NVRTC on {}: {}", source.kernel_name, warnings));
  }
  Counters::of_process().count_compilation(binary.compile_ms);
  logger_->log(LogLevel::kInfo, fmt::format("compiled {} for {} in {:.0f} ms", source.kernel_name,
                                            source.arch, binary.compile_ms));
  return binary;
}

BuildResult Builder::build_one(const Source& source, const std::string& compiler) {
  const CacheKey key = cache_key(source, compiler);
  BuildResult result;
  result.kernel_name = source.kernel_name;
  result.key = key.id();
  result.binary = cache_.get_or_make(
      key, [&] { return compile(source); }, &result.hit, &result.stored);
  return result;
}

BuildResult Builder::find_of_any_compiler(const Source& source) {
  BuildResult result;
  result.kernel_name = source.kernel_name;
  result.binary = cache_.find_any_compiler(cache_key(source, ""));
  if (result.binary == nullptr) return result;
  result.key = cache_key(source, result.binary->compiler).id();
  result.hit = true;
  return result;
}

// Without NVRTC a cached binary of any compiler is better than none; in strict mode it is what is
// asked for, and a kernel that is not there has no binary.
BuildResult Builder::find_without_compiler(const Source& source, const Error* why) {
  BuildResult result = find_of_any_compiler(source);
  if (result.binary != nullptr || strict_) return result;
  throw Error(why->category(), why->code(),
              fmt::format("{} is not in the cache and must be compiled, but {}", source.kernel_name,
                          why->what()));
}

std::optional<std::string> Builder::compiler(std::optional<Error>* why_none) {
  if (strict_) return std::nullopt;
  try {
    return nvrtc_.identity();
  } catch (const Error& error) {
    if (error.code() != "nvrtc.missing") throw;
    *why_none = error;
    return std::nullopt;
  }
}

std::vector<BuildResult> Builder::find(const std::vector<Source>& sources) {
  std::optional<Error> no_compiler;
  const std::optional<std::string> own = compiler(&no_compiler);
  std::vector<BuildResult> results(sources.size());
  run_jobs(sources.size(), jobs_, [&](std::size_t index) {
    const auto start = std::chrono::steady_clock::now();
    BuildResult& result = results[index];
    if (own) {
      const CacheKey key = cache_key(sources[index], *own);
      result.kernel_name = sources[index].kernel_name;
      result.binary = cache_.find(key);
      if (result.binary != nullptr) result.key = key.id();
    } else {
      result = find_of_any_compiler(sources[index]);
    }
    result.hit = result.binary != nullptr;
    if (result.hit) {
      Counters::of_process().count_lookup(true);
      dump_.write(sources[index], *result.binary);
    }
    result.ms = milliseconds_since(start);
  });
  return results;
}

std::vector<BuildResult> Builder::build(const std::vector<Source>& sources,
                                        const BuildProgress& progress,
                                        const std::function<bool()>& stopped) {
  std::optional<Error> no_compiler;
  const std::optional<std::string> own = compiler(&no_compiler);
  std::vector<BuildResult> results(sources.size());
  std::mutex progress_mutex;
  std::size_t done = 0;
  run_jobs(sources.size(), jobs_, [&](std::size_t index) {
    if (stopped && stopped()) {
      throw Error(ErrorCategory::kCancelled, "runtime.cancelled",
                  "cancelled; what was compiled until then is in the cache");
    }
    const auto start = std::chrono::steady_clock::now();
    BuildResult result =
        own ? build_one(sources[index], *own)
            : find_without_compiler(sources[index], no_compiler ? &*no_compiler : nullptr);
    result.ms = milliseconds_since(start);
    Counters::of_process().count_lookup(result.hit);
    results[index] = std::move(result);
    if (results[index].binary == nullptr) return;  // all that are missing are told at the end
    dump_.write(sources[index], *results[index].binary);
    const std::lock_guard<std::mutex> lock(progress_mutex);
    ++done;
    if (progress) progress(results[index], done, sources.size());
  });
  refuse_missing(sources, results, &cache_);
  return results;
}

std::shared_ptr<const Binary> Builder::rebuild(const Source& source,
                                               const std::shared_ptr<const Binary>& refused) {
  std::shared_ptr<const Binary> binary =
      cache_.remake(cache_key(source, nvrtc_.identity()), refused, [&] { return compile(source); });
  dump_.write(source, *binary);
  return binary;
}

}  // namespace heddle
