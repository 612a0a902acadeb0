#include "tools/heddle/shared/kv_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "heddle/error.h"
#include "heddle/model.h"
#include "tools/heddle/shared/input.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& argument, const char* why) {
  throw Error(ErrorCategory::kUsage, "tool.kv",
              fmt::format("--kv {}: {}; it takes DTYPE[:GRANULARITY[:GROUP]], as in int8:head, two "
                          "of them with a comma for K and V, the JSON of a kv block or a file",
                          argument, why));
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
  try {
    return kv_block_from_words(argument);
  } catch (const Error& error) {
    throw Error(
        ErrorCategory::kUsage, "tool.kv",
        fmt::format("--kv {}, the JSON of a kv block or a file", error.problems().front().message));
  }
}

}  // namespace heddle
