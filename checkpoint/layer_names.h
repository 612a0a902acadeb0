// Which tensors of a checkpoint make a quantised linear layer, and which layers kernels fuse.
#ifndef HEDDLE_CHECKPOINT_LAYER_NAMES_H_
#define HEDDLE_CHECKPOINT_LAYER_NAMES_H_

#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace heddle {

struct LayerName {
  enum class Kind {
    kQweight,       // AWQ and GPTQ: <layer>.qweight
    kPacked,        // compressed-tensors: <layer>.weight_packed of I32
    kBytes,         // <layer>.weight of F8 or I8 with <layer>.weight_scale or _scale_inv
    kFp4,           // <layer>.weight of U8 with <layer>.weight_scale_2: Model Optimizer's NVFP4
    kPackedFp4,     // <layer>.weight_packed of U8: compressed-tensors' NVFP4 and MXFP4
    kMxfp4,         // <layer>.blocks and <layer>.scales
    kMxfp4Experts,  // <layer>_blocks and <layer>_scales
  };

  std::string name;
  Kind kind = Kind::kQweight;
};

// Ascending by name.
std::vector<LayerName> quantised_layers(const Checkpoint& checkpoint);
// The tensors that the layer is made of; all other tensors of the checkpoint are left as they are.
std::set<std::string> tensors_of(const LayerName& layer, const Checkpoint& checkpoint);

// Layers whose rows one kernel takes together.
struct LayerGroup {
  std::string name;
  std::vector<LayerName> parts;  // in the order of their rows
};

// Each layer on its own or, with `fuse`, with those that engines fuse: q_proj, k_proj and v_proj
// to qkv_proj, gate_proj and up_proj to gate_up_proj. Parts that are not all there stay alone.
std::vector<LayerGroup> group_layers(const std::vector<LayerName>& layers, bool fuse);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_LAYER_NAMES_H_
