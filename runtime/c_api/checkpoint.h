// The handle of a checkpoint in the C API, for the files that take one.
#ifndef HEDDLE_RUNTIME_C_API_CHECKPOINT_H_
#define HEDDLE_RUNTIME_C_API_CHECKPOINT_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/c/checkpoint.h"
#include "heddle/checkpoint.h"
#include "runtime/c_api/handles.h"

struct heddle_checkpoint {
  heddle_checkpoint(const std::string& path, const heddle::CheckpointOptions& options);

  // Both throw Error(kUsage): "api.index", "checkpoint.no_tensor".
  const heddle::CheckpointLayer& layer(std::size_t index) const;
  const heddle::CheckpointTensor& tensor(std::string_view name) const;
  // Precondition: one of the reader's layers.
  std::size_t index_of(const heddle::CheckpointLayer& layer) const;

  heddle::CheckpointReader reader;
  heddle::c_api::LazyText json;
  std::vector<std::string> specs;         // of the layers: canonical JSON
  std::vector<std::string> expert_specs;  // of the layers of experts
  std::vector<std::string> routed_specs;  // of the same, empty where there is none
  std::map<std::string_view, const heddle::CheckpointTensor*> tensors;  // all, by name
};

#endif  // HEDDLE_RUNTIME_C_API_CHECKPOINT_H_
