// From a checkpoint's folder to greedy tokens.
//   heddle_decoder FOLDER --prompt 1,2,3 [--prompt 4,5 ...] [--tokens N] [--batch N]
//                  [--kv DTYPE[:GRANULARITY[:GROUP]]] [--time]
// Prints the tokens that follow each prompt. --batch: so many sequences, which have the prompts in
// turn. --time: also the median of a step's graph in ms. Exits with 0: done, 1: failed, 77: no GPU.
#include <iostream>
#include <sstream>

#include "decoder.h"

int main(int argc, char** argv) try {
  const std::vector<std::string> args(argv, argv + argc);
  std::map<std::string, std::string> options = {
      {"--tokens", "32"}, {"--batch", "0"}, {"--kv", "int8:head"}, {"--prompt", ""}};
  std::vector<std::vector<int>> prompts;
  std::size_t longest = 0;
  const bool time = std::count(args.begin(), args.end(), "--time") != 0;
  for (std::size_t i = 2; i < args.size(); ++i) {
    if (args[i] == "--time") continue;
    const auto option = options.find(args[i]);
    if (option == options.end()) throw std::runtime_error("there is no option " + args[i]);
    option->second = args.at(++i);
    if (option->first != "--prompt") continue;
    prompts.emplace_back();
    std::istringstream tokens(args[i]);
    for (std::string one; std::getline(tokens, one, ',');) prompts.back().push_back(std::stoi(one));
    if (prompts.back().empty()) throw std::runtime_error("a prompt has no token");
    longest = std::max(longest, prompts.back().size());
  }
  if (prompts.empty()) throw std::runtime_error("--prompt is missing");
  const int steps = std::stoi(options["--tokens"]);
  for (std::size_t s = 0; prompts.size() < std::stoul(options["--batch"]); ++s) {
    prompts.push_back(prompts[s]);
  }

  const Model model(args.at(1), options["--kv"], prompts.size());
  heddle::Runtime runtime;
  if (std::string why_not; !runtime.has_device(&why_not)) {
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
