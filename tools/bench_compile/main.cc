// How long kernels take to compile and to find: tools/bench-compile runs it and reads its JSON.
//
// Cold: NVRTC on one kernel, against a bare kernel in the same run. A model: every kernel, cold and
// then from the disk cache in a fresh Runtime, as a process that starts does it.
#include <fmt/core.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/inspect.hpp"
#include "tools/gpu_harness/median.h"

namespace heddle {
namespace {

constexpr int kRepeats = 9;

RuntimeOptions no_disk() {
  RuntimeOptions options;
  options.disk_cache = false;
  options.jobs = 1;
  return options;
}

double median_compile_ms(const Source& source) {
  std::vector<double> times;
  times.reserve(kRepeats);
  for (int i = 0; i < kRepeats; ++i) {
    times.push_back(Runtime(no_disk()).build({source})[0].binary->compile_ms);
  }
  return median(times);
}

Source bare_kernel(const Source& like) {
  Source bare = like;
  bare.kernel_name = "bare";
  bare.file_name = "bare.cu";
  bare.text = "extern \"C\" __global__ void bare(float* x) { x[threadIdx.x] = 1.0f; }\n";
  return bare;
}

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
  std::vector<Source> sources;
  for (const ModelKernel& kernel : model_from_config(text).kernels) {
    for (Source& source : render_all(resolve(kernel.spec, target))) {
      sources.push_back(std::move(source));
    }
  }
  RuntimeOptions options;
  options.cache_dir = cache;
  Runtime(options).build(sources);
  *kernels = sources.size();
  return milliseconds(start);
}

nlohmann::ordered_json report(const char* config, const Target& target) {
  GemmSpec spec;
  spec.shape.n = 8192;
  spec.shape.k = 8192;
  const std::vector<Source> sources = render_all(resolve(Spec::from_gemm(spec), target));
  auto kernels = nlohmann::ordered_json::array();
  kernels.push_back(
      {{"kernel", "bare"}, {"compile_ms", median_compile_ms(bare_kernel(sources[0]))}});
  for (const Source& source : sources) {
    kernels.push_back({{"kernel", source.kernel_name}, {"compile_ms", median_compile_ms(source)}});
  }
  char folder[] = "/tmp/heddle_bench_XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("no temporary folder");
  std::size_t count = 0;
  const double cold = build_model_ms(config, target, folder, &count);
  const double warm = build_model_ms(config, target, folder, &count);
  std::filesystem::remove_all(folder);
  auto models = nlohmann::ordered_json::array();
  models.push_back(
      {{"config", config}, {"kernels", count}, {"cold_ms", cold}, {"cached_ms", warm}});
  return {{"target", target.name},
          {"repeats", kRepeats},
          {"kernels", std::move(kernels)},
          {"models", std::move(models)}};
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
