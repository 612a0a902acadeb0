// What a user should know of layers of experts beside their kernels.
#ifndef HEDDLE_CHECKPOINT_PLAN_EXPERT_NOTES_H_
#define HEDDLE_CHECKPOINT_PLAN_EXPERT_NOTES_H_

#include <set>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/expert_sets.h"

namespace heddle {

// Experts that stay among the layers since no moe can be made of them.
void note_lone_experts(const CheckpointConfig& config, const std::vector<LayerName>& layers,
                       std::vector<std::string>* notes);

// Experts of every rank add the residual. A shared expert that is split makes a part of it in each
// rank, one that each rank has whole makes all of it. `sets`: those that add one; `packed`: the
// modules that layers other than experts are made of.
void note_whole_residuals(const Checkpoint& checkpoint, const std::vector<const ExpertSet*>& sets,
                          const std::set<std::string>& packed, std::vector<std::string>* notes);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_EXPERT_NOTES_H_
