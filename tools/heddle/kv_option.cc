#include "tools/heddle/kv_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "heddle/error.h"
#include "heddle/kv_spec.h"
#include "tools/heddle/input.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& argument, const char* why) {
  throw Error(ErrorCategory::kUsage, "tool.kv",
              fmt::format("--kv {}: {}; it takes DTYPE[:GRANULARITY[:GROUP]], as in int8:head, two "
                          "of them with a comma for K and V, the JSON of a kv block or a file",
                          argument, why));
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

ordered_json tensor_of_words(const std::string& argument, const std::string& text) {
  const std::vector<std::string> words = split(text, ':');
  const auto empty = [](const std::string& word) { return word.empty(); };
  if (words.size() > 3 || std::any_of(words.begin(), words.end(), empty)) {
    refuse(argument, "not as many words");
  }
  ordered_json tensor = {{"dtype", words[0]}};
  if (words.size() > 1) tensor["granularity"] = words[1];
  if (words.size() > 2) {
    int group = 0;
    const char* end = words[2].data() + words[2].size();
    const auto [stopped, error] = std::from_chars(words[2].data(), end, group);
    if (error != std::errc() || stopped != end) refuse(argument, "the group is no number");
    tensor["group_size"] = group;
  }
  return tensor;
}

std::string block_of_text(const std::string& argument, const std::string& text) {
  // What it holds is written out again, level by level.
  constexpr int kMostDepth = 64;
  const auto check_depth = [&](int depth, ordered_json::parse_event_t, const ordered_json&) {
    if (depth > kMostDepth) refuse(argument.substr(0, 40) + "...", "nested too deep");
    return true;
  };
  const ordered_json json = ordered_json::parse(text, check_depth, false);
  if (!json.is_object()) refuse(argument, "no JSON object");
  return json.contains("kv") ? json["kv"].dump() : text;
}

}  // namespace

void add_kv_option(CLI::App& command, std::string* kv) {
  command
      .add_option("--kv", *kv,
                  "also the kernels of the model's key-value cache: DTYPE[:GRANULARITY[:GROUP]], "
                  "two of them with a comma for K and V, or a spec's kv block: its JSON or a "
                  "file")
      ->type_name("KV")
      ->check([](const std::string& text) { return text.empty() ? "is empty" : ""; });
}

std::string kv_block(const std::string& argument) {
  if (argument.find('{') != std::string::npos) return block_of_text(argument, argument);
  if (argument.find('.') != std::string::npos || argument.find('/') != std::string::npos) {
    return block_of_text(argument, read_input(argument).text);
  }
  const std::vector<std::string> tensors = split(argument, ',');
  if (tensors.size() > 2) refuse(argument, "more than K and V");
  if (tensors.size() == 1) return tensor_of_words(argument, tensors[0]).dump();
  ordered_json block = {{"k", tensor_of_words(argument, tensors[0])},
                        {"v", tensor_of_words(argument, tensors[1])}};
  // A page holds whole blocks of tokens: as many as come to the usual size, or one.
  const int tokens = block["k"].value("group_size", 0);
  if (block["k"].value("granularity", "") == "channel" && tokens > 0) {
    const int usual = KvSpec().page_size;
    block["page_size"] = (usual + tokens - 1) / tokens * tokens;
  }
  return block.dump();
}

}  // namespace heddle
