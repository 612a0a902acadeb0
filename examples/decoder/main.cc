// From a checkpoint's folder to greedy tokens, or to the specs of the kernels that this takes; the
// text below says how. Exits with 0: done, 1: failed, 77: no GPU.
#include <iostream>
#include <sstream>

#include "decoder.h"

constexpr const char* kUsage =
    R"(usage: heddle_decoder FOLDER --prompt 1,2,3 [--prompt 4,5 ...] [--tokens N] [--batch N]
                      [--kv DTYPE[:GRANULARITY[:GROUP]]] [--time]
       heddle_decoder FOLDER|CONFIG --specs --batch N [--kv ...] [--activations 16]

Prints the tokens that follow each prompt.
  --tokens  how many of them; 32 if not given
  --batch   so many sequences, which have the prompts in turn
  --kv      the cache; int8:head if not given
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

int main(int argc, char** argv) try {
  const std::vector<std::string> args(argv, argv + argc);
  std::map<std::string, std::string> options = {{"--tokens", "32"},
                                                {"--batch", "0"},
                                                {"--kv", "int8:head"},
                                                {"--prompt", ""},
                                                {"--activations", "0"}};
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

  heddle::Runtime runtime;
  std::string why_not;
  const bool has_device = runtime.has_device(&why_not);
  const Model model(args[1], options["--kv"], std::max(batch, prompts.size()),
                    has_device ? runtime.device_target().arch() : 0,
                    number("--activations", options["--activations"]));
  for (const std::string& note : model.notes) std::cerr << "note: " << note << "\n";
  const std::vector<heddle::Spec> specs = model.specs();  // names a layer that is not there
  if (print_specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      std::cout << (i == 0 ? "[\n" : ",\n") << specs[i].canonical_json();
    }
    std::cout << "\n]\n";
    return 0;
  }
  if (!model.reader) throw std::runtime_error(args[1] + " has no weights: --specs can do without");
  for (std::size_t s = 0; prompts.size() < batch; ++s) prompts.push_back(prompts[s]);
  if (!has_device) {
    std::cout << "no GPU: " << why_not << "\n";
    return 77;
  }
  void *context = nullptr, *stream = nullptr;
  cuda("cuDevicePrimaryCtxRetain", &context, 0);
  cuda("cuCtxSetCurrent", context);
  cuda("cuStreamCreate", &stream, 0U);
  Decoder decoder(runtime, model, longest + steps, stream);
  decoder.read_prompts(prompts);
  std::vector<int> next(prompts.size());
  std::transform(prompts.begin(), prompts.end(), next.begin(), [](auto& p) { return p.back(); });
  std::vector<std::string> answers(prompts.size());
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    const std::vector<float> logits = decoder.step(next);
    times.push_back(decoder.step_ms);
    for (std::size_t s = 0; s < next.size(); ++s) {
      const auto row = logits.begin() + s * model.vocabulary;
      next[s] = std::max_element(row, row + model.vocabulary) - row;
      answers[s] += std::to_string(next[s]) + " ";
    }
  }
  for (const std::string& answer : answers) std::cout << answer << "\n";
  std::sort(times.begin(), times.end());
  if (time) std::cout << "a step takes " << times.at(times.size() / 2) << " ms\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
