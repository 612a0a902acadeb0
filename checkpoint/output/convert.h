// Whole checkpoints from one form to another: dequantised, or packed for Heddle's kernels.
#ifndef HEDDLE_CHECKPOINT_OUTPUT_CONVERT_H_
#define HEDDLE_CHECKPOINT_OUTPUT_CONVERT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/plan/inventory.h"
#include "checkpoint/plan/layer_plan.h"

namespace heddle {

struct ConvertOptions {
  PackOptions pack;   // dequantize takes its choice of tensors alone
  std::string layer;  // dequantise only this one; empty: all, and copy the other tensors
  int jobs = 0;       // layers at a time; 0: one per core, 8 at most
  // After each tensor, one call at a time, from any thread.
  std::function<void(const std::string& tensor, std::size_t done, std::size_t total)> progress;
};

struct ConvertReport {
  std::size_t layers = 0;   // dequantised or packed
  std::size_t copied = 0;   // tensors taken over as they were
  std::size_t skipped = 0;  // tensors left out on request
  // Quantised layers that no kernel takes. Their tensors are copied, which nobody asked for.
  std::vector<UnservedLayer> unserved;
  std::vector<std::string> notes;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
};

// Both write `output` whole or not at all, and hold at most one layer per job in memory. They throw
// Error(kFile) for files that are not what they should be, Error(kUnsupported) for a checkpoint
// without a quantised layer and for one of which something that looks quantised cannot be converted
// and is neither kept nor skipped, Error(kUsage) for an output that is a file of the checkpoint.

// <layer>.weight [N, K] in the config's torch_dtype, else that of the scales; [K, N] where the
// model stores it so. The bias of such a weight is <layer>.bias.
ConvertReport dequantize_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                    const std::string& output, const ConvertOptions& options);

// <layer>.heddle U8: pack_weights() of the layer; of experts [E, bytes], each on its own.
// <layer>.heddle_perm I32 [K], of experts [E, K], for act-order only: packed column j is column
// perm[j] of the checkpoint. Fused layers have <layer>.bias and <layer>.pre_quant_scale where their
// parts have. The metadata holds, under the name of the packed tensor, the layer's spec as
// canonical JSON. Of one of several ranks "heddle.tp" is "<rank>/<size>", "heddle.ep" where they
// share experts, of which only the rank's are there; all other tensors are there as a whole. Of a
// head that was quantised here "heddle.lm_head" is the number of bits. <layer>.input_scale F32 [1]
// is the static scale of activations of eight bits; where a layer takes such "heddle.activations"
// is 8. "heddle.contents" is what packed_contents.h describes.
ConvertReport repack_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                const std::string& output, const ConvertOptions& options);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_OUTPUT_CONVERT_H_
