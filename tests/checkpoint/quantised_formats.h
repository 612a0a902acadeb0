// Layers in the quantised formats that are read, and what reads them in the tests of this folder.
#ifndef HEDDLE_TESTS_CHECKPOINT_QUANTISED_FORMATS_H_
#define HEDDLE_TESTS_CHECKPOINT_QUANTISED_FORMATS_H_

#include <vector>

#include "checkpoint/modules/config.h"
#include "checkpoint/plan/inventory.h"
#include "tests/checkpoint/test_util.h"
#include "tools/sample_model/quantised_formats.h"

namespace heddle {

using Layer = SampleLayer;

// Codes of the layer's width and groups, with zero points of their own.
inline CheckpointConfig config_of(Storage storage, int bits, std::size_t group,
                                  bool minus_one = false) {
  Scheme scheme;
  scheme.storage = storage;
  scheme.bits = bits;
  scheme.group_size = static_cast<int>(group);
  scheme.symmetric = false;
  scheme.zero_is_minus_one = minus_one;
  CheckpointConfig config;
  config.quantization = Quantization::uniform("test", scheme);
  return config;
}

inline CheckpointConfig config_of(Storage storage, const Layer& layer, bool minus_one = false) {
  return config_of(storage, layer.bits, layer.group, minus_one);
}

// The layers of a checkpoint whose config says nothing.
inline std::vector<LayerName> layers_of(const Checkpoint& checkpoint) {
  return take_inventory(checkpoint, CheckpointConfig(), {}).layers;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_CHECKPOINT_QUANTISED_FORMATS_H_
