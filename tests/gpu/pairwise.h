// Fewer cases of a test that combines the values of several properties.
#ifndef HEDDLE_TESTS_GPU_PAIRWISE_H_
#define HEDDLE_TESTS_GPU_PAIRWISE_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/spec.h"
#include "tests/every_kernel.h"

namespace heddle {

// Returns a small subset of the specs that keeps every pair of values of two properties that one of
// them has; all of them with every_kernel(). Greedy: the spec with the most new pairs comes next.
inline std::vector<Spec> pairwise(const std::vector<Spec>& specs) {
  if (every_kernel()) return specs;
  std::set<std::string> keys;
  std::vector<nlohmann::json> values;
  for (const Spec& spec : specs) {
    values.push_back(nlohmann::json::parse(spec.canonical_json()).flatten());
    for (const auto& [key, value] : values.back().items()) keys.insert(key);
  }
  // For each spec the pairs of the numbers of its values; that a property is absent is one, too.
  std::map<std::string, int> numbers;
  std::vector<std::vector<std::pair<int, int>>> pairs;
  for (const nlohmann::json& of_spec : values) {
    std::vector<int> own;
    for (const std::string& key : keys) {
      const std::string value = key + of_spec.value(key, nlohmann::json()).dump();
      own.push_back(numbers.emplace(value, static_cast<int>(numbers.size())).first->second);
    }
    pairs.emplace_back();
    for (const int one : own) {
      for (const int other : own) {
        if (one < other) pairs.back().emplace_back(one, other);
      }
    }
  }
  std::vector<Spec> chosen;
  std::set<std::pair<int, int>> met;
  while (true) {
    std::size_t best = 0;
    std::ptrdiff_t most = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const std::ptrdiff_t fresh =
          std::count_if(pairs[i].begin(), pairs[i].end(),
                        [&](const std::pair<int, int>& pair) { return met.count(pair) == 0; });
      if (fresh <= most) continue;
      best = i;
      most = fresh;
    }
    if (most == 0) return chosen;
    chosen.push_back(specs[best]);
    met.insert(pairs[best].begin(), pairs[best].end());
  }
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_PAIRWISE_H_
