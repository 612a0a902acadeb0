#include "tools/heddle/run/tune_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace heddle {
namespace {

constexpr double kMostSeconds = 86400;

// All of the text, as a number of the type.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last) return std::nullopt;
  return value;
}

std::optional<MRange> m_range_of(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = number_of<std::int64_t>(text.substr(0, dash));
  const auto last = dash == text.npos ? first : number_of<std::int64_t>(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first) return std::nullopt;
  return MRange{*first, *last};
}

std::optional<double> seconds_of(std::string_view text) {
  double unit = 0;
  for (const auto& [letter, seconds] : {std::pair{'s', 1.0}, {'m', 60.0}, {'h', 3600.0}}) {
    if (!text.empty() && text.back() == letter) unit = seconds;
  }
  if (unit == 0) return std::nullopt;
  text.remove_suffix(1);
  const auto number = number_of<double>(text);
  // The comparison is false for what is no number, too.
  if (!number || !(*number > 0 && unit * *number <= kMostSeconds)) return std::nullopt;
  return unit * *number;
}

}  // namespace

std::string m_range_problem(const std::string& text) {
  if (m_range_of(text)) return "";
  return fmt::format("takes a number of tokens or a range of them such as 1-64, not \"{}\"", text);
}

MRange parse_m_range(const std::string& text) { return m_range_of(text).value_or(MRange{}); }

std::string seconds_problem(const std::string& text) {
  if (seconds_of(text)) return "";
  return fmt::format("takes a time such as 60s, 5m or 1h, a day at most, not \"{}\"", text);
}

double parse_seconds(const std::string& text) { return seconds_of(text).value_or(0); }

}  // namespace heddle
