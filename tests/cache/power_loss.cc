// What is left of a MemoryFileSystem when its power has gone.
#include <sys/stat.h>

#include <algorithm>

#include "memory_file_system.h"

namespace heddle::testing {
namespace {

// Small, so that an entry has many.
constexpr std::size_t kBlockBytes = 64;

// What a file may hold after a cut: each block its old bytes, its new ones, zeros, or noise.
Bytes torn(const Bytes& old_bytes, const Bytes& new_bytes, std::mt19937_64* random) {
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>((*random)() % bound);
  };
  const std::size_t sizes[] = {old_bytes.size(), new_bytes.size(), new_bytes.size(),
                               below(std::max(old_bytes.size(), new_bytes.size()) + 1)};
  Bytes bytes(sizes[below(4)]);
  for (std::size_t begin = 0; begin < bytes.size(); begin += kBlockBytes) {
    const std::size_t kind = below(8);
    const Bytes* from = kind < 5 ? &new_bytes : kind < 6 ? &old_bytes : nullptr;
    for (std::size_t i = begin; i < std::min(begin + kBlockBytes, bytes.size()); ++i) {
      if (from != nullptr && i < from->size()) bytes[i] = (*from)[i];
      if (kind == 7) bytes[i] = static_cast<std::uint8_t>((*random)());
    }
  }
  return bytes;
}

}  // namespace

MemoryFileSystem::NodePtr MemoryFileSystem::survivor(const NodePtr& node, std::mt19937_64* random,
                                                     std::map<const Node*, NodePtr>* known) {
  NodePtr& kept = (*known)[node.get()];
  if (kept != nullptr) return kept;
  kept = std::make_shared<Node>();
  kept->mode = node->mode;
  kept->owner = node->owner;
  kept->id = node->id;
  kept->modified_ns = node->modified_ns;
  if (!S_ISDIR(node->mode)) {
    kept->bytes = node->bytes == node->synced_bytes ? node->bytes
                                                    : torn(node->synced_bytes, node->bytes, random);
    kept->synced_bytes = kept->bytes;
    return kept;
  }
  // Changes that were not synced survive as a journal keeps them, the first few, or in any
  // selection.
  auto names = node->synced_names;
  const bool in_order = (*random)() % 2 == 0;
  std::size_t prefix = (*random)() % (node->changes.size() + 1);
  for (const auto& [name, changed] : node->changes) {
    const bool done = in_order ? prefix > 0 : (*random)() % 2 == 0;
    if (prefix > 0) --prefix;
    if (!done) continue;
    if (changed == nullptr) {
      names.erase(name);
    } else {
      names[name] = changed;
    }
  }
  for (const auto& [name, below] : names) kept->names[name] = survivor(below, random, known);
  kept->synced_names = kept->names;
  return kept;
}

void MemoryFileSystem::lose_power(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<const Node*, NodePtr> known;
  root_ = survivor(root_, &random, &known);
  open_.clear();
  calls_left = -1;
}

}  // namespace heddle::testing
