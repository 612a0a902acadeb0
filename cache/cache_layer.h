// CacheLayer: what a place with compiled kernels answers, whether a folder or a bundle.
#ifndef HEDDLE_CACHE_CACHE_LAYER_H_
#define HEDDLE_CACHE_CACHE_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/key.h"
#include "heddle/inspect/binary.h"

namespace heddle {

struct EntryInfo {
  std::string id;
  std::string kernel_name;
  std::string arch;
  std::string compiler;
  std::uint64_t file_bytes = 0;  // of the whole entry
  std::uint64_t cubin_bytes = 0;
  std::uint64_t ptx_bytes = 0;
  std::int64_t age_s = 0;  // since the last use, as far as known
  // The GPUs that the kernel was planned for, as a bundle tells them; none where it does not.
  std::vector<std::string> gpus;
  bool has_source = false;  // whether the text that was compiled is there
};

struct VerifyReport {
  struct Problem {
    std::string file;  // below the root; in a bundle the entry's id
    std::string why;
  };
  std::size_t good = 0;
  std::size_t damaged = 0;  // problems.size()
  std::vector<Problem> problems;
};

// The texts of the tuned tables that a layer's kernels were planned with; none for a folder.
struct LayerTables {
  std::string path;  // of the layer
  std::vector<std::string> texts;
};

// Thread-safe. Whatever is wrong is a miss, never an error.
class CacheLayer {
 public:
  CacheLayer() = default;
  virtual ~CacheLayer() = default;
  CacheLayer(const CacheLayer&) = delete;
  CacheLayer& operator=(const CacheLayer&) = delete;

  virtual std::optional<Binary> find(const CacheKey& key) = 0;

  // An entry made by whichever compiler; key.compiler is ignored. Of several, the one with the
  // highest Binary::compiler in the order of later_compiler().
  virtual std::optional<Binary> find_any_compiler(const CacheKey& key) = 0;

  // Readable entries, by kernel name, then id.
  virtual std::vector<EntryInfo> list() = 0;
  // Reads every entry in full and checks it. Changes nothing.
  virtual VerifyReport verify() = 0;

  virtual LayerTables tuned_tables() { return {}; }
};

// Digit runs compare as numbers: "nvrtc 13.10" is later than "nvrtc 13.9". A strict weak order in
// which only equal texts are equal.
bool later_compiler(const std::string& a, const std::string& b);

}  // namespace heddle

#endif  // HEDDLE_CACHE_CACHE_LAYER_H_
