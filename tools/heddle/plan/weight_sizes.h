// The bytes of a packed checkpoint's tensors.
#ifndef HEDDLE_TOOLS_HEDDLE_PLAN_WEIGHT_SIZES_H_
#define HEDDLE_TOOLS_HEDDLE_PLAN_WEIGHT_SIZES_H_

#include <vector>

#include "checkpoint/output/packed_checkpoint.h"
#include "heddle/model_size.h"

namespace heddle {

// All tensors, those of a layer together and others that are alike in one row. Throws
// Error(kFile, "checkpoint.collision") for a tensor that is larger than a file can be.
std::vector<ModelWeightSize> weight_sizes(const PackedCheckpoint& packed);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_PLAN_WEIGHT_SIZES_H_
