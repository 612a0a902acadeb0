#include "tools/heddle/run/attention_loads.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "decode_attention/config.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr int kMostLength = 1 << 24;

// A number from 1 to `most` that is all of `text`.
bool parse(std::string_view text, int most, int* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= 1 &&
         *number <= most;
}

bool parse(std::string_view text, AttentionLoad* load) {
  const std::size_t times = text.find('x');
  if (times == std::string_view::npos) return false;
  std::string_view lengths = text.substr(times + 1);
  if (const std::size_t dash = lengths.find('-'); dash != std::string_view::npos) {
    if (!parse(lengths.substr(0, dash), kMostLength, &load->shortest)) return false;
    lengths = lengths.substr(dash + 1);
  }
  return parse(text.substr(0, times), device::kMostSequences, &load->sequences) &&
         parse(lengths, kMostLength, &load->length) && load->shortest <= load->length;
}

}  // namespace

AttentionLoad parse_attention_load(const std::string& text) {
  AttentionLoad load;
  if (parse(text, &load)) return load;
  throw Error(
      ErrorCategory::kUsage, "tool.load",
      fmt::format("\"{}\" is no load; write up to {} sequences of up to {} tokens as 64x8192, or "
                  "of lengths drawn from a range as 64x1-16384",
                  text, device::kMostSequences, kMostLength));
}

std::vector<AttentionLoad> parse_attention_loads(const std::vector<std::string>& texts) {
  std::vector<AttentionLoad> loads;
  loads.reserve(texts.size());
  for (const std::string& text : texts) loads.push_back(parse_attention_load(text));
  return loads;
}

}  // namespace heddle
