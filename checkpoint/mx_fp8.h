// Float layers, which are only dequantised: FP8 (e4m3) with scales, and MXFP4.
#ifndef HEDDLE_CHECKPOINT_MX_FP8_H_
#define HEDDLE_CHECKPOINT_MX_FP8_H_

#include <memory>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"
#include "checkpoint/dense_rows.h"
#include "checkpoint/layer_names.h"

namespace heddle {

// Values of codes; exact. e8m0's 255 is NaN, as are e4m3's 0x7F and 0xFF.
double e4m3_value(std::uint8_t code);
double e2m1_value(std::uint8_t code);
double e8m0_value(std::uint8_t code);

// Throw Error(kFile, "checkpoint.layer") for tensors that contradict each other.
std::unique_ptr<DenseRows> read_fp8_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                          const CheckpointConfig& config, Load load);
std::unique_ptr<DenseRows> read_mxfp4_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                            Load load);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_MX_FP8_H_
