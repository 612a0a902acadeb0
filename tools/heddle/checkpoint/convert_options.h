// What `heddle repack` and `heddle dequantize` share.
#ifndef HEDDLE_TOOLS_HEDDLE_CHECKPOINT_CONVERT_OPTIONS_H_
#define HEDDLE_TOOLS_HEDDLE_CHECKPOINT_CONVERT_OPTIONS_H_

#include <string>

#include "checkpoint/output/convert.h"
#include "tools/heddle/shared/pack_options.h"

namespace CLI {
class App;
}

namespace heddle {

struct ConvertCommandOptions {
  std::string checkpoint;
  std::string config;
  std::string output;
  ConvertOptions convert;  // without what `pack` says
  PackCommandOptions pack;
  bool json = false;
};

void add_convert_options(CLI::App& command, ConvertCommandOptions* options);

using Convert = ConvertReport (*)(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                  const std::string& output, const ConvertOptions& options);

// Reads the inputs, converts with progress on stderr and prints the report, where `verb` says what
// was done with the layers. Returns the exit code: kExitFailed where layers were copied since no
// kernel takes them.
int run_convert(const ConvertCommandOptions& options, Convert convert, const char* verb);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_CHECKPOINT_CONVERT_OPTIONS_H_
