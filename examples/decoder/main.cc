// From a checkpoint's folder to greedy tokens.
//   heddle_decoder FOLDER --prompt 1,2,3 [--prompt 4,5 ...] [--tokens N] [--batch N]
//                  [--kv DTYPE[:GRANULARITY[:GROUP]]] [--time]
// Prints the tokens that follow each prompt. --batch: so many sequences, which have the prompts in
// turn. --time: also the median of a step's graph in ms. Exits with 0: done, 1: failed, 77: no GPU.
#include <iostream>
#include <sstream>

#include "decoder.h"

int run(const std::vector<std::string>& args) {
  std::map<std::string, std::string> options = {
      {"--tokens", "32"}, {"--batch", "0"}, {"--kv", "int8:head"}};
  std::vector<std::vector<int>> prompts, answers;
  std::size_t longest = 0;
  bool time = false;
  for (std::size_t i = 2; i < args.size(); ++i) {
    if (args[i] == "--prompt") {
      prompts.emplace_back();
      std::istringstream tokens(args.at(++i));
      for (std::string token; std::getline(tokens, token, ',');) {
        prompts.back().push_back(std::stoi(token));
      }
      if (prompts.back().empty()) throw std::runtime_error("a prompt has no token");
      longest = std::max(longest, prompts.back().size());
    } else if (args[i] == "--time") {
      time = true;
    } else {
      if (options.count(args[i]) == 0) throw std::runtime_error("no such option: " + args[i]);
      options[args[i]] = args.at(i + 1);
      ++i;
    }
  }
  if (prompts.empty()) throw std::runtime_error("--prompt is missing");
  const int steps = std::stoi(options["--tokens"]);
  const std::size_t batch = std::stoul(options["--batch"]);
  for (std::size_t s = 0; prompts.size() < batch; ++s) prompts.push_back(prompts[s]);

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
  std::vector<int> next;
  for (const auto& prompt : prompts) next.push_back(prompt.back());
  answers.resize(prompts.size());
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    const std::vector<float> logits = decoder.step(next);
    times.push_back(decoder.step_ms);
    for (std::size_t s = 0; s < next.size(); ++s) {
      const auto row = logits.begin() + s * model.vocabulary;
      next[s] = std::max_element(row, row + model.vocabulary) - row;
      answers[s].push_back(next[s]);
    }
  }
  for (const auto& answer : answers) {
    for (const int token : answer) std::cout << token << " ";
    std::cout << "\n";
  }
  std::sort(times.begin(), times.end());
  if (time) std::cout << "a step takes " << times.at(times.size() / 2) << " ms\n";
  return 0;
}

int main(int argc, char** argv) try {
  return run({argv, argv + argc});
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
