// Which tensors of a checkpoint are packed, and for which rank: what repack, dequantize and build
// share.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_PACK_OPTIONS_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_PACK_OPTIONS_H_

#include "checkpoint/modules/config_files.h"
#include "checkpoint/plan/layer_plan.h"

namespace CLI {
class App;
}

namespace heddle {

struct PackCommandOptions {
  PackOptions pack;
  ConfigRequest request;
};

// --keep, --skip and --engine-rotates.
void add_choice_options(CLI::App& command, PackCommandOptions* options);
// --fuse, --no-fuse, --gated, --dense, --lm-head, --activations, --tp and --ep.
void add_layer_options(CLI::App& command, PackCommandOptions* options);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_PACK_OPTIONS_H_
