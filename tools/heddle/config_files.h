// A model's config.json with the files beside it that say how its weights are quantised.
#ifndef HEDDLE_TOOLS_HEDDLE_CONFIG_FILES_H_
#define HEDDLE_TOOLS_HEDDLE_CONFIG_FILES_H_

#include <string>

#include "heddle/model.h"
#include "tools/heddle/input.h"

namespace heddle {

struct ConfigFiles {
  Input config;
  std::string hf_quant_config;  // empty: not there
  std::string quantize_config;

  ModelConfigTexts texts() const { return {config.text, hf_quant_config, quantize_config}; }
};

// `path` is that of config.json, "-" or JSON, as for read_input(); only a file has others beside
// it. Throws Error(kFile) for files that are there and cannot be read.
ConfigFiles read_config_files(const std::string& path);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_CONFIG_FILES_H_
