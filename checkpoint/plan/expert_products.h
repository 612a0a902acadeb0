// ProductOfExperts: one of the two products of a layer of experts, as a kernel takes it.
#ifndef HEDDLE_CHECKPOINT_PLAN_EXPERT_PRODUCTS_H_
#define HEDDLE_CHECKPOINT_PLAN_EXPERT_PRODUCTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/expert_biases.h"
#include "checkpoint/plan/expert_sets.h"
#include "checkpoint/plan/fused_layer.h"
#include "checkpoint/plan/read_group.h"
#include "heddle/checkpoint.h"
#include "heddle/spec.h"

namespace heddle {

// What the experts of one product have alike.
struct ProductOfExperts {
  GemmSpec gemm;  // of one; with act_order where any has it
  TensorScales tensor_scales = TensorScales::kOne;
  std::vector<std::int64_t> heights;
  ExpertBiases biases;
  std::vector<std::vector<std::int32_t>> orders;  // FusedLayer::permutation() of each
};

// Reads of every expert what specs depend on. Throws as refuse_layer() where they are not alike.
// Tells `see_first` of the first expert, and `notes` what a user should know.
ProductOfExperts product_of_experts(
    const Checkpoint& checkpoint, const CheckpointConfig& config, const TensorParallel& parallel,
    const ExpertProduct& experts,
    const std::function<void(const LayerGroup&, const ViewedParts&)>& see_first,
    std::vector<std::string>* notes);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_EXPERT_PRODUCTS_H_
