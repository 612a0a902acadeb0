// Writes a bundle.
#ifndef HEDDLE_CACHE_ENCODE_BUNDLE_H_
#define HEDDLE_CACHE_ENCODE_BUNDLE_H_

#include <string>
#include <vector>

#include "cache/bundle_format.h"
#include "cache/bytes.h"
#include "cache/key.h"
#include "heddle/inspect/binary.h"

namespace heddle {

// One kernel of a bundle. The key's source is empty where only its digests are known.
struct BundleEntry {
  SerialKey key;
  Binary binary;
  GpuNames gpus;  // that it was planned for, as far as known
};

// Whether a bundle holds the source parts of keys and the PTX.
enum class BundleTexts { kWith, kWithout };

// The bytes of tables as they are in a block; none for no tables. Of texts that are alike only one
// goes in.
Bytes encode_bundle_tables(std::vector<std::string> tables);

// A whole bundle. Of entries with the same digests one goes in, with texts if any of them has
// texts, and for the GPUs of all. The same entries and tables give the same bytes, in whichever
// order they come. Throws std::length_error for what no reader takes: more than kBundleMaxItems
// entries, a text, all tables or all names of GPUs longer than kMaxPartBytes, and an entry that
// encode_entry() refuses. Throws what reading the PTX throws. Precondition: no table is empty.
Bytes encode_bundle(std::vector<BundleEntry> entries, std::vector<std::string> tables = {},
                    BundleTexts texts = BundleTexts::kWith);

}  // namespace heddle

#endif  // HEDDLE_CACHE_ENCODE_BUNDLE_H_
