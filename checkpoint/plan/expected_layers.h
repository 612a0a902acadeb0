// ExpectedLayers: the linear layers that a model has by its config, against those of a checkpoint.
#ifndef HEDDLE_CHECKPOINT_PLAN_EXPECTED_LAYERS_H_
#define HEDDLE_CHECKPOINT_PLAN_EXPECTED_LAYERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/missing_layer.h"
#include "heddle/spec.h"

namespace heddle {

// How the sides of a layer differ from those that the config says.
struct OtherSides {
  std::string why;        // empty where they do not, or where it says none
  bool is_fault = false;  // one is smaller, and the layer is one of experts
};

// Where the config does not describe the whole decoder, nothing is expected.
class ExpectedLayers {
 public:
  // The config outlives it.
  explicit ExpectedLayers(const CheckpointConfig& config) : config_(config) {}

  // Of a layer of this name, of a stack of experts one matrix.
  OtherSides compare(const std::string& name, std::int64_t n, std::int64_t k) const;
  // Throws as refuse_layer() where the config says that a layer of this name has other sides.
  void check_sides(const std::string& name, std::int64_t n, std::int64_t k) const;
  // Layers of the decoder of which there is no tensor, under whatever name: products of experts
  // and, with `dense`, dense layers; in the order of the decoder.
  std::vector<MissingLayer> missing(const Checkpoint& checkpoint, bool dense) const;

 private:
  struct Sides {
    MatrixShape shape;
    std::string n_field;  // of the config, that they were worked out from
    std::string k_field;
    bool of_experts = false;
  };
  std::optional<Sides> sides_of(const std::string& name) const;
  std::optional<Sides> sides_of_stack(const std::string& name) const;

  const CheckpointConfig& config_;
};

// What a user should know of layers that a checkpoint lacks. Precondition: there is one.
std::string note_of_missing(const std::vector<MissingLayer>& missing);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_EXPECTED_LAYERS_H_
