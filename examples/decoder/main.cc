// From a checkpoint's folder to greedy tokens, or to the specs of the kernels that this takes; the
// text below says how. Exits with 0: done, 1: failed, 77: no GPU.
#include <future>
#include <iostream>
#include <memory>
#include <sstream>

#include "decoder.h"
#include "nccl.h"

constexpr const char* kUsage =
    R"(usage: heddle_decoder FOLDER --prompt 1,2,3 [--prompt 4,5 ...] [--tokens N] [--batch N]
                      [--kv DTYPE[:GRANULARITY[:GROUP]]] [--ranks N] [--time]
       heddle_decoder FOLDER|CONFIG --specs --batch N [--kv ...] [--activations 16]

Prints the tokens that follow each prompt.
  --tokens  how many of them; 32 if not given
  --batch   so many sequences, which have the prompts in turn
  --kv      the cache; int8:head if not given
  --ranks   so many GPUs share the model, each with a part of every layer; NCCL sums
  --time    also the median of a step's graph in ms
  --activations 16: X has 16 bits where the checkpoint says 8, too
  --specs   print the specs of all kernels, a list that heddle build takes; needs no GPU, and no
            weights: a config.json will do
)";

int number(const std::string& option, const std::string& text) {
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  if (!text.empty() && text.size() < 10 && digits) return std::stoi(text);
  throw std::runtime_error(option + " takes whole numbers, not \"" + text + "\"");
}

// A GPU, and what it has of the model.
struct Rank {
  void *context = nullptr, *stream = nullptr;
  std::unique_ptr<Model> model;
  std::unique_ptr<Decoder> decoder;
  std::vector<float> logits;
};

// Calls work(number, rank) in a thread of its own for each. One that fails ends the program: the
// others may wait for its sums.
template <typename Work>
void on_each(std::vector<Rank>& ranks, Work work) {
  std::vector<std::future<void>> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.push_back(std::async(std::launch::async, [&work, &ranks, r] {
      try {
        if (ranks[r].context != nullptr) cuda("cuCtxSetCurrent", ranks[r].context);
        work(static_cast<int>(r), ranks[r]);
      } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
        std::_Exit(1);
      }
    }));
  }
  for (auto& thread : threads) thread.get();
}

int main(int argc, char** argv) try {
  const std::vector<std::string> args(argv, argv + argc);
  std::map<std::string, std::string> options = {{"--tokens", "32"},    {"--batch", "0"},
                                                {"--kv", "int8:head"}, {"--prompt", ""},
                                                {"--ranks", "1"},      {"--activations", "0"}};
  std::vector<std::vector<int>> prompts;
  std::size_t longest = 0;
  bool time = false, print_specs = false;
  if (args.size() < 2 || args[1] == "--help") {
    std::cout << kUsage;
    return args.size() < 2 ? 1 : 0;
  }
  for (std::size_t i = 2; i < args.size(); ++i) {
    if (args[i] == "--time" || args[i] == "--specs") {
      (args[i] == "--time" ? time : print_specs) = true;
      continue;
    }
    const auto option = options.find(args[i]);
    if (option == options.end()) throw std::runtime_error("there is no option " + args[i]);
    if (++i == args.size()) throw std::runtime_error(option->first + " has no value");
    option->second = args[i];
    if (option->first != "--prompt") continue;
    prompts.emplace_back();
    std::istringstream tokens(args[i]);
    for (std::string one; std::getline(tokens, one, ',');) {
      prompts.back().push_back(number("--prompt", one));
    }
    if (prompts.back().empty()) throw std::runtime_error("a prompt has no token");
    longest = std::max(longest, prompts.back().size());
  }
  if (prompts.empty() && !print_specs) throw std::runtime_error("--prompt is missing");
  const int steps = number("--tokens", options["--tokens"]);
  const std::size_t batch = number("--batch", options["--batch"]);
  if (batch == 0 && prompts.empty()) {
    throw std::runtime_error("--batch is missing: --specs are for so many sequences, 1 to 64");
  }

  const int ranks = number("--ranks", options["--ranks"]);
  if (ranks < 1 || ranks > heddle::TensorParallel::kMostSize) {
    throw std::runtime_error("--ranks takes 1 to " +
                             std::to_string(heddle::TensorParallel::kMostSize));
  }

  heddle::Runtime runtime;
  std::string why_not;
  const bool has_device = runtime.has_device(&why_not);
  const auto open = [&](int rank) {
    return std::make_unique<Model>(args[1], options["--kv"], std::max(batch, prompts.size()),
                                   has_device ? runtime.device_target().arch() : 0,
                                   number("--activations", options["--activations"]),
                                   heddle::TensorParallel{rank, ranks});
  };
  std::vector<Rank> gpus(ranks);
  for (int r = 0; r < ranks; ++r) gpus[r].model = open(r);
  const Model& first = *gpus[0].model;
  for (const std::string& note : first.notes) std::cerr << "note: " << note << "\n";
  std::vector<std::string> specs;  // those of the ranks are mostly alike
  for (const Rank& gpu : gpus) {
    for (const heddle::Spec& spec : gpu.model->specs()) {  // names a layer that is not there
      const std::string line = spec.canonical_json();
      if (std::find(specs.begin(), specs.end(), line) == specs.end()) specs.push_back(line);
    }
  }
  if (print_specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      std::cout << (i == 0 ? "[\n" : ",\n") << specs[i];
    }
    std::cout << "\n]\n";
    return 0;
  }
  if (!first.reader) throw std::runtime_error(args[1] + " has no weights: --specs can do without");
  for (std::size_t s = 0; prompts.size() < batch; ++s) prompts.push_back(prompts[s]);
  if (!has_device) {
    std::cout << "no GPU: " << why_not << "\n";
    return 77;
  }
  int count = 0;
  cuda("cuDeviceGetCount", &count);
  if (ranks > count) {
    throw std::runtime_error("--ranks takes a GPU for each, and there are " +
                             std::to_string(count));
  }
  std::optional<Nccl> nccl;
  if (ranks > 1) nccl.emplace(ranks);
  // All ranks take their kernels from one runtime, and so from one cache.
  on_each(gpus, [&](int r, Rank& gpu) {
    cuda("cuDevicePrimaryCtxRetain", &gpu.context, r);
    cuda("cuCtxSetCurrent", gpu.context);
    cuda("cuStreamCreate", &gpu.stream, 0U);
    Decoder::SumOfRanks sum;
    if (nccl) {
      sum = [&nccl, &gpu, r](heddle::DeviceOutput values, heddle::Stream stream) {
        nccl->sum(r, values, gpu.model->type, stream);
      };
    }
    gpu.decoder = std::make_unique<Decoder>(runtime, *gpu.model, longest + steps, gpu.stream, sum);
  });
  on_each(gpus, [&](int, Rank& gpu) { gpu.decoder->read_prompts(prompts); });
  std::vector<int> next(prompts.size());
  std::transform(prompts.begin(), prompts.end(), next.begin(), [](auto& p) { return p.back(); });
  std::vector<std::string> answers(prompts.size());
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    on_each(gpus, [&](int, Rank& gpu) { gpu.logits = gpu.decoder->step(next); });
    times.push_back(0);
    for (const Rank& gpu : gpus) times.back() = std::max(times.back(), gpu.decoder->step_ms);
    for (std::size_t s = 0; s < next.size(); ++s) {
      std::vector<float> row;  // of the sequence, of all parts of the vocabulary
      for (const Rank& gpu : gpus) {
        const auto part = gpu.logits.begin() + s * first.vocabulary_part;
        row.insert(row.end(), part, part + first.vocabulary_part);
      }
      next[s] = std::max_element(row.begin(), row.end()) - row.begin();
      answers[s] += std::to_string(next[s]) + " ";
    }
  }
  for (const std::string& answer : answers) std::cout << answer << "\n";
  on_each(gpus, [](int, Rank& gpu) { gpu.decoder.reset(); });
  std::sort(times.begin(), times.end());
  if (time) std::cout << "a step takes " << times.at(times.size() / 2) << " ms\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
