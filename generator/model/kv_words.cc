// A cache in a few words, as users name it: what is made of them is a kv block's JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/spec/document.h"
#include "heddle/error.h"
#include "heddle/kv_spec.h"
#include "heddle/model.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse(std::string_view words, const char* why) {
  throw Error(ErrorCategory::kUsage, "kv.words",
              fmt::format("\"{}\" names no cache: {}; allowed: DTYPE[:GRANULARITY[:GROUP]], as in "
                          "int8:head, or two of them with a comma for K and V",
                          excerpt(words), why));
}

std::vector<std::string> split(std::string_view text, char at) {
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

ordered_json tensor_of(std::string_view all, const std::string& text) {
  const std::vector<std::string> words = split(text, ':');
  const auto empty = [](const std::string& word) { return word.empty(); };
  if (words.size() > 3 || std::any_of(words.begin(), words.end(), empty)) {
    refuse(all, "not as many words");
  }
  ordered_json tensor = {{"dtype", words[0]}};
  if (words.size() > 1) tensor["granularity"] = words[1];
  if (words.size() > 2) {
    int group = 0;
    const char* end = words[2].data() + words[2].size();
    const auto [stopped, error] = std::from_chars(words[2].data(), end, group);
    if (error != std::errc() || stopped != end) refuse(all, "the group is no number");
    tensor["group_size"] = group;
  }
  return tensor;
}

// Also of words that are no UTF-8, which Spec then refuses.
std::string text_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string kv_block_from_words(std::string_view words) {
  const std::vector<std::string> tensors = split(words, ',');
  if (tensors.size() > 2) refuse(words, "more than K and V");
  if (tensors.size() == 1) return text_of(tensor_of(words, tensors[0]));
  ordered_json block = {{"k", tensor_of(words, tensors[0])}, {"v", tensor_of(words, tensors[1])}};
  // A page holds whole blocks of tokens: as many as come to the usual size, or one.
  const int tokens = block["k"].value("group_size", 0);
  if (block["k"].value("granularity", "") == "channel" && tokens > 0) {
    const int usual = KvSpec().page_size;
    block["page_size"] = (usual + tokens - 1) / tokens * tokens;
  }
  return text_of(block);
}

}  // namespace heddle
