// PackedCheckpoint: every tensor that a checkpoint becomes when it is packed, and how it is made.
#ifndef HEDDLE_CHECKPOINT_OUTPUT_PACKED_CHECKPOINT_H_
#define HEDDLE_CHECKPOINT_OUTPUT_PACKED_CHECKPOINT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/layer_plan.h"
#include "checkpoint/plan/made_tensor.h"

namespace heddle {

struct PackedLayerTensors {
  PackedLayer layer;
  MadeTensor weights;
  std::optional<MadeTensor> permutation;
  std::optional<MadeTensor> bias;
  std::optional<MadeTensor> pre_scale;
  std::optional<MadeTensor> input_scale;
};

// `heddle repack` writes it to a file, CheckpointReader hands it out.
struct PackedCheckpoint {
  std::vector<PackedLayerTensors> layers;  // ascending by name
  std::vector<CheckpointExperts> experts;  // as LayerPlan::experts
  std::vector<MadeTensor> others;          // copied as they are; ascending by name
  std::vector<UnservedLayer> unserved;     // ascending by name; their tensors are among the others
  std::vector<std::string> notes;
  std::size_t skipped = 0;  // tensors left out on request
  std::size_t kept = 0;     // quantised layers that are left as they are on request
  bool dense = false;       // layers of 16 bits were asked for
  bool rotates = false;     // the engine has to rotate activations
};

// Both must outlive what is made of them. Throws as plan_layers() does.
PackedCheckpoint packed_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                   const PackOptions& options);

// Throws Error(kUnsupported, "checkpoint.not_quantised") where there is nothing to pack.
void expect_quantised(const PackedCheckpoint& packed, const PackOptions& options);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_OUTPUT_PACKED_CHECKPOINT_H_
