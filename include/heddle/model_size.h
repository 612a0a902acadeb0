// Device memory of a model: its weights, its key-value cache, and the workspace of its kernels.
// From a config alone: nothing is compiled, and no GPU is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/export.h"
#include "heddle/model.h"
#include "heddle/target.h"
#include "heddle/tuned.h"

namespace heddle {

struct ModelLoad {
  // Sequences in the batch, one token of each a step; prompts need more workspace.
  std::int64_t sequences = 1;
  std::int64_t context = 1;  // tokens of each sequence in the cache
};

// Weights of layers that are alike.
struct ModelWeightSize {
  std::string name;  // "qkv_proj", "embeddings", "norms"
  // "uint4, groups of 128"; of what Heddle does not pack, as the checkpoint has it: "16 bits".
  std::string weights;
  bool packed = false;     // in Heddle's layout
  std::int64_t count = 0;  // layers
  std::size_t each = 0;    // bytes of one, with its bias, permutation and factors of columns
  std::size_t bytes = 0;   // of all
};

// The caches of layers that are alike.
struct ModelCacheSize {
  std::string name;  // "kv_append"
  std::int64_t count = 0;
  std::int64_t pages = 0;  // of one layer; of a contiguous cache, sequences
  std::int64_t page_tokens = 0;
  std::size_t each = 0;  // bytes of one: codes, scales and residual windows of K and V
  std::size_t bytes = 0;
  std::int64_t window = 0;  // tokens that queries of these layers see; 0: all
  // What one takes if pages behind the window are given up; `each` without a window.
  std::size_t each_in_window = 0;
};

// The most that a launch of a kernel for such a batch needs.
struct ModelWorkspaceSize {
  std::string name;
  std::size_t bytes = 0;
};

// What is no part of the sums.
struct ModelUncounted {
  std::string name;
  std::string reason;
};

struct ModelSize {
  std::vector<ModelWeightSize> weights;
  std::vector<ModelCacheSize> caches;
  std::vector<ModelWorkspaceSize> workspaces;  // of kernels that need some
  std::vector<ModelUncounted> uncounted;
  std::vector<std::string> assumptions;
  std::size_t weight_bytes = 0;
  std::size_t cache_bytes = 0;
  // The largest: launches that run one after another share it.
  std::size_t workspace_bytes = 0;
  std::size_t bytes = 0;  // the sum of the three
};

// `model`: of model_from_config(), `cache`: of cache_model_from_config(). The bytes are those of
// layouts and plans. Kernels that the target refuses are in `uncounted`. Throws Error(kUsage,
// "model.load") for a load of no sequences or tokens, of more than 1024 sequences or 2^30 tokens,
// or for more bytes than 2^63.
HEDDLE_EXPORT ModelSize model_size(const Model& model, const Model& cache, const Target& target,
                                   const ModelLoad& load,
                                   const TunedTables& tables = TunedTables::shipped());

}  // namespace heddle
