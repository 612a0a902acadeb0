// PlainLayers: which tensors of a checkpoint are linear layers that were not quantised and that are
// packed on request.
#ifndef HEDDLE_CHECKPOINT_PLAN_PLAIN_LAYERS_H_
#define HEDDLE_CHECKPOINT_PLAN_PLAIN_LAYERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "generator/model/family.h"

namespace heddle {

// By their places in the model, as the family of its type has them: no shape tells a matrix from a
// table that is looked up. Experts are among them where the config describes the whole decoder.
class PlainLayers {
 public:
  // `dense` and `lm_head_bits` are those of CheckpointOptions; checkpoint and config outlive it.
  // Throws Error(kUsage, "checkpoint.lm_head") for a width that is none, and
  // Error(kUnsupported): "checkpoint.dense" for a model type whose layers are not known,
  // "checkpoint.lm_head" where there is no head to quantise or it is quantised already.
  PlainLayers(const Checkpoint& checkpoint, const CheckpointConfig& config, bool dense,
              int lm_head_bits);

  // The layer whose weights the tensor is; nothing for other tensors.
  std::optional<LayerName> layer_of(const TensorInfo& tensor) const;
  // A head without weights of its own, which no tensor stands for: it has those of the embeddings,
  // whether they are quantised or not.
  std::optional<LayerName> shared_head() const;
  // What a user should know of the head.
  const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  // One whose embeddings are quantised: its layer is served whatever is asked for.
  void find_coded_head(int bits);
  void find_head(int bits);

  const Checkpoint& checkpoint_;
  const CheckpointConfig& config_;
  const bool dense_;
  std::optional<LayerName> head_;
  std::vector<std::string> notes_;
};

// Whether the module is one matrix that every token is multiplied with.
bool is_dense(Module module);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_PLAIN_LAYERS_H_
