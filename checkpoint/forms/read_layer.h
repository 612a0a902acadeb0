// A layer of any form that is known.
#ifndef HEDDLE_CHECKPOINT_FORMS_READ_LAYER_H_
#define HEDDLE_CHECKPOINT_FORMS_READ_LAYER_H_

#include <memory>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/forms/quantized_rows.h"
#include "checkpoint/modules/config.h"
#include "checkpoint/modules/layer_names.h"

namespace heddle {

// All throw Error(kUnsupported, "checkpoint.layer"), which names the layer, for tensors that
// contradict each other or the config and for a form that cannot be read.
std::unique_ptr<QuantizedRows> read_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                          const CheckpointConfig& config, Load load);

// The parts of it that are not integers packed into words. A plain layer has the type of the
// config's activations already, or gets codes.
std::unique_ptr<QuantizedRows> read_byte_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                               const CheckpointConfig& config, Load load);
std::unique_ptr<QuantizedRows> read_fp4_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                              Load load);
std::unique_ptr<QuantizedRows> read_plain_layer(const Checkpoint& checkpoint,
                                                const LayerName& layer,
                                                const CheckpointConfig& config, Load load);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_FORMS_READ_LAYER_H_
