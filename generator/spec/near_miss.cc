#include "generator/spec/near_miss.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr std::size_t kLongestWord = 64;  // no known word is longer, and the cost is quadratic

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The one candidate that `word` is a part of, or that is a part of it; none where several are.
std::string_view only_containing(std::string_view word,
                                 const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kShortest = 3;
  std::string_view only;
  for (const std::string_view candidate : candidates) {
    if (std::min(word.size(), candidate.size()) < kShortest) continue;
    if (candidate.find(word) == candidate.npos && word.find(candidate) == word.npos) continue;
    if (!only.empty()) return {};
    only = candidate;
  }
  return only;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> cost((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return cost[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  const auto same = [&](std::size_t i, std::size_t j) {
    return lower(a[i - 1]) == lower(b[j - 1]);
  };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = at(i - 1, j - 1) + (same(i, j) ? 0 : 1);
      at(i, j) = std::min({replaced, at(i - 1, j) + 1, at(i, j - 1) + 1});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

std::string_view near_miss(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > std::max(word.size(), candidate.size()) / 3) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? only_containing(word, candidates) : best;
}

std::string did_you_mean(std::string_view word) {
  if (word.empty()) return {};
  return "did you mean \"" + std::string(word) + "\"?";
}

}  // namespace heddle
