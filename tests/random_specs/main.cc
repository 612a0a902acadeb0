// heddle_random_specs: random well-formed specs and targets through parse, resolve and render, and
// a sample of what was rendered through the compiler. tests/fuzz/README.md says what must hold.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "tests/random_specs/check.h"
#include "tests/random_specs/draw.h"
#include "tests/random_specs/last_case.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRedraws = 3;              // of a spec that is refused
constexpr std::size_t kAllKernels = 32;  // of so many plans one is rendered whole
constexpr unsigned kSlowSeconds = 60;    // a case takes milliseconds

struct Options {
  double seconds = 0;       // 0: no limit
  std::uint64_t count = 0;  // 0: no limit
  std::uint64_t seed = 0;
  std::size_t compile = 0;
  int jobs = 0;
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
};

// Set by Ctrl-C: no further case is begun, and the counts so far are told.
volatile std::sig_atomic_t interrupted = 0;

void interrupt(int /*signal*/) { interrupted = 1; }

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
  const auto start = Clock::now();
  const auto is_over = [&] {
    if (interrupted != 0) return true;
    if (options.count > 0 && counts->specs >= options.count) return true;
    return options.seconds > 0 &&
           std::chrono::duration<double>(Clock::now() - start).count() >= options.seconds;
  };
  std::vector<Sample> samples;
  RandomSpec spec(random);
  for (int redraws = 0; !is_over(); ++counts->specs) {
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
    Target target;
    target.major = arch / 10;
    target.minor = arch % 10;
    archs.push_back(compiler_arch(target));
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

int run(const Options& options) {
  watch_cases(kSlowSeconds);
  std::signal(SIGINT, interrupt);
  Counts counts;
  const std::vector<Sample> samples = run_cases(options, &counts);
  const std::uint64_t compiled =
      options.compile == 0 ? 0 : compile_samples(options, samples, &counts);
  fmt::print(
      "random_specs: seed {}: {} specs, {} plans, {} kernels rendered, {} compiled, {} faults\n",
      options.seed, counts.specs, counts.plans, counts.kernels, compiled, counts.faults);
  return counts.faults == 0 ? 0 : 1;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Random well-formed specs and targets through parse, resolve and render.");
  Options options;
  options.seed = std::random_device()();
  app.add_option("--seconds", options.seconds, "how long; default until --count")
      ->check(CLI::PositiveNumber);
  app.add_option("--count", options.count, "how many specs; default until --seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of the random numbers; default another one each time");
  app.add_option("--compile", options.compile, "how many of the kernels to compile at the end");
  app.add_option("--jobs", options.jobs, "compilations at a time; default one per core");
  CLI11_PARSE(app, argc, argv);
  if (options.seconds == 0 && options.count == 0) options.seconds = 10;
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
