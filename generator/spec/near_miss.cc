#include "generator/spec/near_miss.h"

#include <algorithm>
#include <array>

#include "generator/spec/in_quotes.h"

namespace heddle {
namespace {

constexpr std::size_t kLongestWord = 64;  // no known word is longer, and the cost is quadratic
constexpr std::size_t kMostMeant = 3;     // more are no help

// What others call what Heddle has another name for, in small letters and digits alone, and the
// names of Heddle that it may stand for: of these count those that are allowed where it stands.
struct OtherName {
  std::string_view name;
  std::array<std::string_view, 4> means;
};
// Names that end with a * are those that begin so.
constexpr OtherName kOtherNames[] = {
    // Types of elements.
    {"float16", {"fp16"}},
    {"half", {"fp16"}},
    {"f16", {"fp16"}},
    {"bfloat16", {"bf16"}},
    {"float32", {"fp32"}},
    {"float", {"fp32"}},
    {"f32", {"fp32"}},
    {"single", {"fp32"}},
    {"fp8", {"fp8_e4m3", "fp8_e5m2", "e4m3", "e5m2"}},
    {"float8", {"fp8_e4m3", "fp8_e5m2", "e4m3", "e5m2"}},
    {"f8", {"fp8_e4m3", "fp8_e5m2", "e4m3", "e5m2"}},
    {"float8e4m3", {"fp8_e4m3", "e4m3"}},
    {"float8e4m3fn", {"fp8_e4m3", "e4m3"}},
    {"fp8e4m3fn", {"fp8_e4m3", "e4m3"}},
    {"e4m3fn", {"fp8_e4m3", "e4m3"}},
    {"float8e5m2", {"fp8_e5m2", "e5m2"}},
    {"float8e8m0fnu", {"e8m0"}},
    {"ue8m0", {"e8m0"}},
    {"fp6", {"e2m3", "e3m2"}},
    {"fp4", {"e2m1", "nvfp4"}},
    {"float4", {"e2m1", "nvfp4"}},
    {"mxfp4", {"e2m1", "nvfp4"}},
    {"nvfp4", {"e2m1"}},
    {"i8", {"int8", "int"}},
    {"s8", {"int8", "int"}},
    {"i4", {"int4", "int"}},
    {"s4", {"int4", "int"}},
    {"u8", {"uint"}},
    {"u4", {"uint"}},
    {"uint8", {"uint"}},
    {"uint4", {"uint"}},
    // Operations and what they compute.
    {"matmul", {"gemm"}},
    {"linear", {"gemm"}},
    {"swish", {"silu"}},
    {"swiglu", {"silu", "clamped_swiglu"}},
    {"geglu", {"gelu", "gelu_tanh"}},
    {"gelunew", {"gelu_tanh"}},
    {"gelufast", {"gelu_tanh"}},
    {"gelupytorchtanh", {"gelu_tanh"}},
    {"relusquared", {"relu2"}},
    {"squaredrelu", {"relu2"}},
    // GPUs. One that has no name of its own is served by its architecture.
    {"turing", {"sm_75"}},
    {"ampere", {"sm_80", "sm_86"}},
    {"ada", {"sm_89"}},
    {"lovelace", {"sm_89"}},
    {"hopper", {"sm_90"}},
    {"blackwell", {"sm_100", "sm_120"}},
    {"a800", {"a100"}},
    {"a6000", {"rtxa6000"}},
    {"l20", {"sm_89"}},
    {"l40", {"l40s", "sm_89"}},
    {"h20", {"h200", "sm_90"}},
    {"h800", {"h100", "sm_90"}},
    {"b100", {"sm_100"}},
    {"gb200", {"b200", "sm_100"}},
    {"gb300", {"b300", "sm_103"}},
    {"spark", {"gb10"}},
    {"a2", {"sm_86"}},
    {"a16", {"sm_86"}},
    {"rtxa4000", {"sm_86"}},
    {"rtxa5000", {"sm_86"}},
    {"rtx2060*", {"sm_75"}},
    {"rtx2070*", {"sm_75"}},
    {"rtx2080*", {"sm_75"}},
    {"rtx3050*", {"sm_86"}},
    {"rtx3060*", {"sm_86"}},
    {"rtx3070*", {"sm_86"}},
    {"rtx3080*", {"sm_86"}},
    {"rtx4050*", {"sm_89"}},
    {"rtx4060*", {"sm_89"}},
    {"rtx4070*", {"sm_89"}},
    {"rtx4080*", {"sm_89"}},
    {"rtx4000ada*", {"sm_89"}},
    {"rtx5000ada*", {"sm_89"}},
    {"rtx6000ada*", {"sm_89"}},
    {"rtx5050*", {"sm_120"}},
    {"rtx5060*", {"sm_120"}},
    {"rtx5070*", {"sm_120"}},
    {"rtx5080*", {"sm_120"}},
    {"sm75", {"turing"}},
    {"sm80", {"ampere"}},
    {"sm90", {"hopper"}},
    {"wgmma", {"hopper"}},
};

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// As kOtherNames has them, and without what a name stands in: "torch.float8_e4m3fn".
std::string normalised(std::string_view word) {
  std::string text;
  for (const char c : word.substr(word.rfind('.') + 1)) {
    const char small = lower(c);
    const bool counts = (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9');
    if (counts) text += small;
  }
  return text;
}

bool is_name(std::string_view name, std::string_view letters) {
  const bool begins = name.ends_with('*');
  return begins ? letters.starts_with(name.substr(0, name.size() - 1)) : letters == name;
}

std::vector<std::string_view> meant_by_others(std::string_view word,
                                              const std::vector<std::string_view>& candidates) {
  std::vector<std::string_view> meant;
  const std::string letters = normalised(word);
  for (const OtherName& other : kOtherNames) {
    if (!is_name(other.name, letters)) continue;
    for (const std::string_view name : other.means) {
      const auto found = std::find(candidates.begin(), candidates.end(), name);
      if (found != candidates.end() && meant.size() < kMostMeant) meant.push_back(*found);
    }
  }
  return meant;
}

// Whether letters were only swapped.
bool has_same_letters(std::string_view a, std::string_view b) {
  const auto sorted = [](std::string_view text) {
    std::string letters;
    for (const char c : text) letters += lower(c);
    std::sort(letters.begin(), letters.end());
    return letters;
  };
  return sorted(a) == sorted(b);
}

std::vector<std::string_view> nearest(std::string_view word,
                                      const std::vector<std::string_view>& candidates) {
  std::vector<std::string_view> best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > std::max(word.size(), candidate.size()) / 3) continue;
    if (best.empty() || distance < best_distance) best.clear();
    if (!best.empty() && distance > best_distance) continue;
    best_distance = distance;
    const bool is_new = std::find(best.begin(), best.end(), candidate) == best.end();
    if (is_new) best.push_back(candidate);
  }
  // Among equally near ones whoever swapped two letters means the one that has all of them.
  const auto swapped = std::find_if(best.begin(), best.end(), [word](std::string_view one) {
    return has_same_letters(word, one);
  });
  if (swapped != best.end()) return {*swapped};
  if (best.size() > kMostMeant) best.resize(kMostMeant);
  return best;
}

// The one candidate that `word` is a part of, or that is a part of it; none where several are.
std::vector<std::string_view> only_containing(std::string_view word,
                                              const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kShortest = 3;
  std::vector<std::string_view> only;
  for (const std::string_view candidate : candidates) {
    if (std::min(word.size(), candidate.size()) < kShortest) continue;
    if (candidate.find(word) == candidate.npos && word.find(candidate) == word.npos) continue;
    if (!only.empty() && only.front() != candidate) return {};
    only = {candidate};
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

std::vector<std::string_view> near_misses(std::string_view word,
                                          const std::vector<std::string_view>& candidates) {
  if (word.size() > kLongestWord) return {};
  std::vector<std::string_view> meant = meant_by_others(word, candidates);
  if (meant.empty()) meant = nearest(word, candidates);
  return meant.empty() ? only_containing(word, candidates) : meant;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::vector<std::string_view> meant = near_misses(word, candidates);
  if (meant.empty()) return {};
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < meant.size(); ++i) {
    if (i > 0) text += i + 1 == meant.size() ? " or " : ", ";
    text += in_quotes(meant[i]);
  }
  return text + '?';
}

}  // namespace heddle
