// LayerName: a linear layer of a checkpoint, and the tensors that it is made of.
#ifndef HEDDLE_CHECKPOINT_MODULES_LAYER_NAMES_H_
#define HEDDLE_CHECKPOINT_MODULES_LAYER_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"

namespace heddle {

struct LayerName {
  enum class Kind {
    kQweight,       // AWQ and GPTQ: <layer>.qweight
    kPacked,        // compressed-tensors: <layer>.weight_packed of I32
    kQuarkPacked,   // Quark: <layer>.weight of I32 with <layer>.weight_scale
    kBytes,         // <layer>.weight of F8 or I8 with a scale
    kNamedBytes,    // <layer> itself of F8 with <layer>_scale_inv or _scale: stacked experts
    kFp4,           // <layer>.weight of U8 or I8 with <layer>.weight_scale: MXFP4, NVFP4
    kPackedFp4,     // <layer>.weight_packed of U8: compressed-tensors' NVFP4 and MXFP4
    kMxfp4,         // <layer>.blocks and <layer>.scales
    kMxfp4Experts,  // <layer>_blocks and <layer>_scales
    kPlain,         // <layer>.weight of 16 bits, which was not quantised
    kPlainExperts,  // <layer> itself of 16 bits: stacked experts that were not quantised
  };

  std::string name;
  Kind kind = Kind::kQweight;
  // With kPlain, kPlainExperts:
  bool transposed = false;  // stored as [K, N]
  int code_bits = 0;        // it is quantised on its way; 0: it stays as it is
  // Whose weights it has: the embeddings', of a head without its own.
  std::string shared_module{};
  // Of a stack of experts this matrix alone; -1: all of the tensors.
  std::int64_t matrix = -1;

  // The module whose tensors it has.
  const std::string& module() const { return shared_module.empty() ? name : shared_module; }
  // The tensor of plain weights that `heddle dequantize` writes.
  std::string plain_tensor() const {
    return kind == Kind::kNamedBytes || kind == Kind::kPlainExperts ? name : name + ".weight";
  }
  bool is_plain() const { return kind == Kind::kPlain || kind == Kind::kPlainExperts; }
};

// The layer whose codes the tensor is; nothing for other tensors.
std::optional<LayerName> layer_of_codes(const TensorInfo& tensor, const Checkpoint& checkpoint);
// The tensors that the layer is made of, the codes first. Those of a shared module are that one's,
// too.
std::vector<std::string> tensors_of(const LayerName& layer, const Checkpoint& checkpoint);
// The tensor that has the layer's bias, if any: "<layer>.bias", "<layer>_bias" of stacked experts.
std::string bias_of(const LayerName& layer);
// A factor for each column of X: "<layer>.pre_quant_scale".
std::string pre_scale_of(const std::string& layer);
// The scales of a layer of kBytes or kNamedBytes, by whatever name; null where there are none.
const TensorInfo* byte_scales(const LayerName& layer, const Checkpoint& checkpoint);

// Layers whose rows one kernel may take together.
struct LayerGroup {
  std::string name;
  std::vector<LayerName> parts;  // in the order of their rows
};

// Each layer on its own or with those that engines fuse, as `fusions` say: q_proj, k_proj and
// v_proj of an attention over its own tokens to qkv_proj, gate_proj and up_proj to gate_up_proj.
// Parts that are not all there stay alone. Ascending by name.
std::vector<LayerGroup> group_layers(const std::vector<LayerName>& layers,
                                     const std::vector<Fusion>& fusions);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_MODULES_LAYER_NAMES_H_
