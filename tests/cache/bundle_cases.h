// Entries of the tests' bundles, and what is wrong with a file.
#ifndef HEDDLE_TESTS_CACHE_BUNDLE_CASES_H_
#define HEDDLE_TESTS_CACHE_BUNDLE_CASES_H_

#include <string>
#include <vector>

#include "cache/bundle.h"
#include "test_util.h"

namespace heddle::testing {

// The sample keys and binaries below this number.
inline std::vector<BundleEntry> sample_entries(int count) {
  std::vector<BundleEntry> entries;
  for (int i = 0; i < count; ++i) {
    entries.push_back({serialize(sample_key(i)), sample_binary(i), {}});
  }
  return entries;
}

// What Bundle says of a file with these bytes; empty if it is sound.
inline std::string bundle_problem(const Bytes& bytes) {
  const TempFolder folder;
  write_bytes(folder / "b.hdl", bytes);
  return Bundle(folder / "b.hdl").problem();
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CACHE_BUNDLE_CASES_H_
