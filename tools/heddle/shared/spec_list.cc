#include "tools/heddle/shared/spec_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/error.h"
#include "tools/heddle/shared/errors.h"

namespace heddle {
namespace {

using nlohmann::json;

constexpr std::string_view kSpace = " \t\r\n";
// A text of millions of elements that are no specs ends here.
constexpr std::size_t kMostProblems = 50;

// Keeps nothing of the values: only whether the text is well formed is of interest.
struct FirstFault {
  std::size_t byte = 0;

  static bool null() { return true; }
  static bool boolean(bool /*value*/) { return true; }
  static bool number_integer(json::number_integer_t /*value*/) { return true; }
  static bool number_unsigned(json::number_unsigned_t /*value*/) { return true; }
  static bool number_float(json::number_float_t /*value*/, const std::string& /*text*/) {
    return true;
  }
  static bool string(const std::string& /*value*/) { return true; }
  static bool binary(const json::binary_t& /*value*/) { return true; }
  static bool start_object(std::size_t /*members*/) { return true; }
  static bool key(const std::string& /*key*/) { return true; }
  static bool end_object() { return true; }
  static bool start_array(std::size_t /*items*/) { return true; }
  static bool end_array() { return true; }
  bool parse_error(std::size_t at, const std::string& /*token*/, const json::exception& /*why*/) {
    byte = at;
    return false;
  }
};

void check_is_json(const std::string& place, const std::string& text) {
  FirstFault fault;
  if (json::sax_parse(text, &fault)) return;
  throw Error(ErrorCategory::kSpec, "tool.not_json",
              fmt::format("{}: not valid JSON at byte {}", place, fault.byte));
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

void for_each_element(std::string_view json,
                      const std::function<bool(std::string_view element)>& visit) {
  int depth = 0;
  bool in_string = false;
  std::size_t begin = 0;
  const auto end_element = [&](std::size_t end) {
    const std::string_view element = json.substr(begin, end - begin);
    const std::size_t first = element.find_first_not_of(kSpace);
    begin = end + 1;
    return first == std::string_view::npos || visit(element.substr(first));
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
      if (--depth == 0 && !end_element(i)) return;
    } else if (c == ',' && depth == 1) {
      if (!end_element(i)) return;
    }
  }
}

Model model_of_list(const std::string& place, const std::string& text) {
  check_is_json(place, text);
  Model model;
  std::vector<Problem> problems;
  std::size_t count = 0;
  for_each_element(text, [&](std::string_view element) {
    try {
      Spec spec = parse_at(fmt::format("{}[{}]", place, count), element);
      model.kernels.push_back({std::move(spec), 0, {}});
    } catch (const Error& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
    ++count;
    return problems.size() < kMostProblems;
  });
  if (problems.size() >= kMostProblems) {
    problems.resize(kMostProblems - 1);  // as many as an error shows
    problems.push_back(
        {place, fmt::format("what follows [{}] was not read", count - 1), "", "", ""});
  }
  if (count == 0) problems.push_back({place, "the list holds no spec", "", "", ""});
  if (!problems.empty()) {
    throw Error(ErrorCategory::kSpec, "tool.bad_list", std::move(problems));
  }
  return model;
}

}  // namespace heddle
