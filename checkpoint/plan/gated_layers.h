// GatedLayers: which layers of a checkpoint are packed for kernels with a gated epilogue.
#ifndef HEDDLE_CHECKPOINT_PLAN_GATED_LAYERS_H_
#define HEDDLE_CHECKPOINT_PLAN_GATED_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"
#include "generator/model/gate.h"
#include "heddle/spec.h"

namespace heddle {

class GatedLayers {
 public:
  // `config` outlives it. `wanted`: PackOptions::gated; else no layer is.
  GatedLayers(const CheckpointConfig& config, bool wanted) : config_(config), wanted_(wanted) {}

  // Throws Error(kUnsupported, "model.activation") where one of the layers would be gated and no
  // gated epilogue has the model's activation.
  void check(const std::vector<LayerGroup>& groups) const;

  // Sets epilogue.gated and epilogue.activation where the layer is a gate and an up of a decoder
  // layer. `heights`: rows of each part. Remembers why one stays as it is.
  void apply(const LayerGroup& group, const std::vector<std::int64_t>& heights, GemmSpec* gemm);

  // Experts have gates whatever is asked for.
  void add_gated_experts() { ungated_.found = true; }

  void add_notes(std::vector<std::string>* notes) const;

 private:
  bool is_gate_and_up(const LayerGroup& group) const;
  std::string why_not(const LayerGroup& group, const std::vector<std::int64_t>& heights,
                      std::int64_t rows) const;

  const CheckpointConfig& config_;
  const bool wanted_;
  UngatedLayers ungated_;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_GATED_LAYERS_H_
