// How long a process that starts waits for all kernels of a model: cold, and then from the disk
// cache in a fresh Runtime. tools/bench-compile runs it and reads its JSON.
#include <fmt/core.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/inspect.hpp"

namespace heddle {
namespace {

double milliseconds(const std::chrono::steady_clock::time_point& start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Wall time from reading the config to all binaries at hand.
double build_model_ms(const char* config, const Target& target, const std::string& cache,
                      std::size_t* kernels) {
  const auto start = std::chrono::steady_clock::now();
  std::ifstream file(config);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  ModelConfigTexts texts;
  texts.config = text;
  texts.arch = target.arch();
  std::vector<Source> sources;
  std::set<std::string> names;  // several specs may share a text
  for (const ModelKernel& kernel : model_from_config(texts).kernels) {
    for (Source& source : render_all(resolve(kernel.spec, target))) {
      if (names.insert(source.file_name).second) sources.push_back(std::move(source));
    }
  }
  RuntimeOptions options;
  options.cache_dir = cache;
  Runtime(options).build(sources);
  *kernels = sources.size();
  return milliseconds(start);
}

nlohmann::ordered_json report(const char* config, const Target& target) {
  char folder[] = "/tmp/heddle_bench_XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("no temporary folder");
  std::size_t count = 0;
  const double cold = build_model_ms(config, target, folder, &count);
  const double warm = build_model_ms(config, target, folder, &count);
  std::filesystem::remove_all(folder);
  auto models = nlohmann::ordered_json::array();
  models.push_back(
      {{"config", config}, {"kernels", count}, {"cold_ms", cold}, {"cached_ms", warm}});
  return {{"target", target.name}, {"models", std::move(models)}};
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: heddle_bench_compile CONFIG TARGET\n");
    return 2;
  }
  try {
    const auto report = heddle::report(argv[1], heddle::target_from_name(argv[2]));
    fmt::print("{}\n", report.dump(2));
  } catch (const std::exception& error) {
    fmt::print(stderr, "heddle_bench_compile: {}\n", error.what());
    return 1;
  }
  return 0;
}
