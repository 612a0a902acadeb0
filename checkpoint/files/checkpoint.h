// Checkpoint: the tensors of one safetensors file, or of all the shards of an index.
#ifndef HEDDLE_CHECKPOINT_FILES_CHECKPOINT_H_
#define HEDDLE_CHECKPOINT_FILES_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/files/safetensors.h"

namespace heddle {

// Immutable after construction: any thread may call it.
class Checkpoint {
 public:
  struct Entry {
    const SafetensorsFile* file;
    const TensorInfo* tensor;
  };

  // `path` is a .safetensors file, a model.safetensors.index.json, or a folder: with such an index,
  // with model.safetensors, or with safetensors files of other names, which are all read. Throws
  // Error(kFile) for files that are missing, damaged or contradict the index.
  explicit Checkpoint(const std::string& path);
  // Whether the folder has tensors that the constructor would read.
  static bool is_in(const std::string& folder);

  // In the order in which they were opened.
  const std::vector<std::unique_ptr<SafetensorsFile>>& files() const noexcept { return files_; }
  // All tensors by name.
  const std::map<std::string, Entry>& tensors() const noexcept { return tensors_; }
  const TensorInfo* find(const std::string& name) const;
  // Throws Error(kFile, "checkpoint.missing") where there is no such tensor.
  const Entry& at(const std::string& name) const;
  // A whole tensor.
  std::vector<std::uint8_t> read(const std::string& name) const;
  // Whether `path` is one of the files that it was read from, by whatever name.
  bool is_of(const std::string& path) const;
  // The sum of all tensors.
  std::uint64_t bytes() const;
  // `path` was one of several shards, by its name: model-00002-of-00005.safetensors.
  bool is_one_shard() const noexcept { return is_one_shard_; }

 private:
  void open_index(const std::string& path);
  void add_file(const std::string& path);

  std::string index_;  // "" without one
  bool is_one_shard_ = false;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Entry> tensors_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FILES_CHECKPOINT_H_
