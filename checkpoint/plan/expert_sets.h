// ExpertSet: the experts of one decoder layer, whether the checkpoint has a tensor for each of them
// or stacks of all.
#ifndef HEDDLE_CHECKPOINT_PLAN_EXPERT_SETS_H_
#define HEDDLE_CHECKPOINT_PLAN_EXPERT_SETS_H_

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/missing_layer.h"
#include "generator/model/decoder.h"

namespace heddle {

// One of the two products: a matrix of each expert.
struct ExpertProduct {
  std::string name;              // "model.layers.0.mlp.experts.gate_up_proj"
  std::vector<LayerName> shown;  // its modules, a * or nothing for the number of the expert
  std::vector<LayerGroup> each;  // of expert 0, 1 ...; each has as many parts as `shown`
  std::vector<std::string> tensors(const Checkpoint& checkpoint) const;  // of all, ascending
};

struct ExpertSet {
  std::string name;  // "model.layers.0.mlp.experts"
  const DecodedBlock* block = nullptr;
  ExpertProduct gate_up;
  ExpertProduct down;
  // Why the set cannot be packed; empty where it may be. Then a product may lack experts.
  std::string fault;
  // A product of which no matrix is to be packed. Empty where both are there.
  std::string absent;
  bool is_missing = false;  // the checkpoint has no tensor of `absent`
};

// Takes the experts out of `layers`, as the config describes them: those of layers that predict
// further tokens are like those of the last layer. Precondition: config.decoder.
std::vector<ExpertSet> take_expert_sets(const Checkpoint& checkpoint,
                                        const CheckpointConfig& config,
                                        std::vector<LayerName>* layers);

// Takes the stacks of 16 bits out of `layers` that are in layers without experts by the config, and
// says so as a fault of each set. Precondition: config.decoder.
std::vector<ExpertSet> take_denied_stacks(const CheckpointConfig& config,
                                          std::vector<LayerName>* layers);

// The products of experts of which the checkpoint has no tensor, whatever it is made of. As layers
// of a decoder's list count those that a longer path ends in. Precondition: config.decoder.
std::vector<MissingLayer> missing_experts(const Checkpoint& checkpoint,
                                          const CheckpointConfig& config);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_EXPERT_SETS_H_
