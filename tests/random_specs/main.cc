// heddle_random_specs: random well-formed specs and targets through parse, resolve and render, and
// a sample of what was rendered through the compiler; then configs of models with random changes.
// tests/fuzz/README.md says what must hold.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "generator/target/capabilities.h"
#include "heddle/error.h"
#include "heddle/runtime.h"
#include "tests/random_specs/check.h"
#include "tests/random_specs/check_config.h"
#include "tests/random_specs/draw.h"
#include "tests/random_specs/draw_config.h"
#include "tests/random_specs/last_case.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRedraws = 3;                       // of a spec that is refused
constexpr std::size_t kAllKernels = 32;           // of so many plans one is rendered whole
constexpr unsigned kSlowSeconds = 60;             // a case takes milliseconds
constexpr rlim_t kConfigBytes = rlim_t{2} << 30;  // of the whole process, while it reads configs

struct Options {
  double seconds = 0;       // 0: no limit
  std::uint64_t count = 0;  // 0: no limit
  std::uint64_t seed = 0;
  std::size_t compile = 0;
  int jobs = 0;
  double config_seconds = 0;       // 0: no limit
  std::uint64_t config_count = 0;  // 0: no limit
  std::string config_case;         // a file
};

// A source to compile, and the case that it is of.
struct Sample {
  Source source;
  std::string line;
};

struct Counts {
  std::uint64_t specs = 0;
  std::uint64_t plans = 0;
  std::uint64_t kernels = 0;
  std::uint64_t faults = 0;
  std::uint64_t configs = 0;
  std::uint64_t models = 0;  // of configs that were accepted
};

// Whether `count` cases, or those of `seconds`, are done; 0 of either: no limit.
class Limit {
 public:
  Limit(double seconds, std::uint64_t count) : seconds_(seconds), count_(count) {}
  bool is_over(std::uint64_t cases) const;

 private:
  double seconds_;
  std::uint64_t count_;
  Clock::time_point start_ = Clock::now();
};

// Set by Ctrl-C: no further case is begun, and the counts so far are told.
volatile std::sig_atomic_t interrupted = 0;

void interrupt(int /*signal*/) { interrupted = 1; }

bool Limit::is_over(std::uint64_t cases) const {
  if (interrupted != 0 || (count_ > 0 && cases >= count_)) return true;
  return seconds_ > 0 && std::chrono::duration<double>(Clock::now() - start_).count() >= seconds_;
}

void tell_fault(const std::string& fault, const std::string& line) {
  fmt::print(stderr, "random_specs: {}, with\n{}\n", fault, line);
}

// Each of all sources so far has the same chance to be in the sample.
void take_samples(std::vector<Source> sources, const std::string& line, std::size_t wanted,
                  std::uint64_t* seen, Random& random, std::vector<Sample>* samples) {
  for (Source& source : sources) {
    ++*seen;
    if (samples->size() < wanted) {
      samples->push_back({std::move(source), line});
    } else if (const std::size_t place = below(random, *seen); place < wanted) {
      (*samples)[place] = {std::move(source), line};
    }
  }
}

std::vector<Sample> run_cases(const Options& options, Counts* counts) {
  Random random(options.seed);
  const Limit limit(options.seconds, options.count);
  std::vector<Sample> samples;
  RandomSpec spec(random);
  for (int redraws = 0; !limit.is_over(counts->specs); ++counts->specs) {
    const std::string text = spec.json();
    const Target target = random_target(random);
    const std::string line =
        fmt::format(R"({{"heddle_record":1,"spec":{},"target":{}}})", text, target_json(target));
    note_case(line);
    Verdict verdict = check_case(text, target, one_in(random, kAllKernels), random);
    if (!verdict.fault.empty()) {
      tell_fault(verdict.fault, line);
      ++counts->faults;
    }
    counts->plans += verdict.has_plan ? 1 : 0;
    take_samples(std::move(verdict.sources), line, options.compile, &counts->kernels, random,
                 &samples);
    if (!verdict.has_plan && verdict.fault.empty() && redraws < kRedraws) {
      spec.redraw(verdict.problems);
      ++redraws;
    } else {
      spec.draw();
      redraws = 0;
    }
  }
  return samples;
}

// Those of the sample that the compiler at hand makes code for.
std::uint64_t compile_samples(const Options& options, const std::vector<Sample>& samples,
                              Counts* counts) {
  RuntimeOptions runtime_options;
  runtime_options.disk_cache = false;
  runtime_options.jobs = options.jobs;
  Runtime runtime(runtime_options);
  std::vector<std::string> archs;
  for (const int arch : runtime.compiler_archs()) {
    archs.push_back(compiler_arch(target_of_arch(arch)));
  }
  std::uint64_t compiled = 0;
  // One by one, so that each failure is told with its case.
  for (const Sample& sample : samples) {
    if (std::find(archs.begin(), archs.end(), sample.source.arch) == archs.end()) continue;
    note_case(sample.line);
    try {
      runtime.build({sample.source});
      ++compiled;
    } catch (const Error& error) {
      tell_fault(fmt::format("{} ({}) does not compile: {}", sample.source.kernel_name,
                             sample.source.arch, error.what()),
                 sample.line);
      ++counts->faults;
    }
  }
  return compiled;
}

void run_config(const ConfigCase& config, Counts* counts) {
  const std::string line = line_of(config);
  note_case(line);
  const ConfigVerdict verdict = check_config(config);
  ++counts->configs;
  counts->models += verdict.is_accepted ? 1 : 0;
  if (verdict.fault.empty()) return;
  tell_fault(verdict.fault, line);
  ++counts->faults;
}

void run_configs(const Options& options, Counts* counts) {
  if (options.config_seconds == 0 && options.config_count == 0) return;
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  const rlimit small{kConfigBytes, before.rlim_max};
  ::setrlimit(RLIMIT_AS, &small);
  Random random(options.seed);
  RandomConfig configs(random);
  const Limit limit(options.config_seconds, options.config_count);
  while (!limit.is_over(counts->configs)) run_config(configs.draw(), counts);
  ::setrlimit(RLIMIT_AS, &before);
}

int run_again(const std::string& file) {
  std::ifstream lines(file);
  Counts counts;
  for (std::string line; std::getline(lines, line);) run_config(config_case_of(line), &counts);
  fmt::print("random_specs: {} configs, {} accepted, {} faults\n", counts.configs, counts.models,
             counts.faults);
  return counts.faults == 0 && counts.configs > 0 ? 0 : 1;
}

int run(const Options& options) {
  watch_cases(kSlowSeconds);
  if (!options.config_case.empty()) return run_again(options.config_case);
  std::signal(SIGINT, interrupt);
  Counts counts;
  std::vector<Sample> samples;
  if (options.seconds > 0 || options.count > 0) samples = run_cases(options, &counts);
  run_configs(options, &counts);
  const std::uint64_t compiled =
      options.compile == 0 ? 0 : compile_samples(options, samples, &counts);
  fmt::print(
      "random_specs: seed {}: {} specs, {} plans, {} kernels rendered, {} compiled, {} configs, {} "
      "models, {} faults\n",
      options.seed, counts.specs, counts.plans, counts.kernels, compiled, counts.configs,
      counts.models, counts.faults);
  // Where none is accepted nothing but refusals was checked.
  const bool accepts = options.config_count == 0 || counts.models > 0 || interrupted != 0;
  if (!accepts) fmt::print(stderr, "random_specs: no config was accepted\n");
  return counts.faults == 0 && accepts ? 0 : 1;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app(
      "Random well-formed specs and targets through parse, resolve and render, and models' "
      "configs with random changes.");
  Options options;
  options.seed = std::random_device()();
  app.add_option("--seconds", options.seconds, "how long; default until --count")
      ->check(CLI::PositiveNumber);
  app.add_option("--count", options.count, "how many specs; default until --seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of the random numbers; default another one each time");
  app.add_option("--compile", options.compile, "how many of the kernels to compile at the end");
  app.add_option("--jobs", options.jobs, "compilations at a time; default one per core");
  app.add_option("--config-seconds", options.config_seconds,
                 "how long to change configs; default 0")
      ->check(CLI::PositiveNumber);
  app.add_option("--config-count", options.config_count, "how many configs; default 0")
      ->check(CLI::PositiveNumber);
  app.add_option("--config-case", options.config_case,
                 "checks the configs of this file again, as a fault prints them")
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);
  const bool has_configs = options.config_seconds > 0 || options.config_count > 0;
  if (options.seconds == 0 && options.count == 0 && !has_configs) options.seconds = 10;
  return run(options);
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  try {
    return heddle::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs("random_specs: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return 1;
  }
}
