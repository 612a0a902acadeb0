// The index of a checkpoint in several files: model.safetensors.index.json.
#ifndef HEDDLE_CHECKPOINT_FILES_SHARD_INDEX_H_
#define HEDDLE_CHECKPOINT_FILES_SHARD_INDEX_H_

#include <string>
#include <vector>

namespace heddle {

struct ShardEntry {
  std::string tensor;
  std::string shard;  // the name of a file beside the index
};

// The entries of "weight_map", in their order. Throws Error(kFile): "checkpoint.open",
// "checkpoint.read", "checkpoint.index" for a text that is no such index, for one tensor twice, and
// for shards that are not the name of a file beside the index.
std::vector<ShardEntry> read_shard_index(const std::string& path);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FILES_SHARD_INDEX_H_
