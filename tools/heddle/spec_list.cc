#include "tools/heddle/spec_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/error.h"
#include "tools/heddle/errors.h"

namespace heddle {
namespace {

using nlohmann::json;

constexpr std::string_view kSpace = " \t\r\n";

void check_is_json(const std::string& place, const std::string& text) {
  try {
    // The callback drops every value: only whether the text is well formed is of interest.
    const auto drop = [](int, json::parse_event_t, const json&) { return false; };
    [[maybe_unused]] const json nothing = json::parse(text, drop);
  } catch (const json::parse_error& error) {
    throw Error(ErrorCategory::kSpec, "tool.not_json",
                fmt::format("{}: not valid JSON at byte {}", place, error.byte));
  }
}

}  // namespace

bool is_spec_list(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  return first != std::string_view::npos && text[first] == '[';
}

Spec parse_at(const std::string& place, std::string_view text) {
  try {
    return Spec::parse(text);
  } catch (const Error& error) {
    throw at_place(place, error);
  }
}

std::vector<std::string_view> array_elements(std::string_view json) {
  std::vector<std::string_view> elements;
  int depth = 0;
  bool in_string = false;
  std::size_t begin = 0;
  const auto end_element = [&](std::size_t end) {
    const std::string_view element = json.substr(begin, end - begin);
    const std::size_t first = element.find_first_not_of(kSpace);
    if (first != std::string_view::npos) elements.push_back(element.substr(first));
    begin = end + 1;
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth == 1) begin = i + 1;
    } else if (c == ']' || c == '}') {
      if (--depth == 0) end_element(i);
    } else if (c == ',' && depth == 1) {
      end_element(i);
    }
  }
  return elements;
}

Model model_of_list(const std::string& place, const std::string& text) {
  check_is_json(place, text);
  const std::vector<std::string_view> elements = array_elements(text);
  Model model;
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    try {
      Spec spec = parse_at(fmt::format("{}[{}]", place, i), elements[i]);
      model.kernels.push_back({std::move(spec), 0, {}});
    } catch (const Error& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (elements.empty()) {
    problems.push_back({place, "the list holds no spec", "", "", ""});
  }
  if (!problems.empty()) {
    throw Error(ErrorCategory::kSpec, "tool.bad_list", std::move(problems));
  }
  return model;
}

}  // namespace heddle
