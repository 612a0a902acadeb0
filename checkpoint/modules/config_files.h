// A model's config.json with the files beside it that say how its weights are quantised.
#ifndef HEDDLE_CHECKPOINT_MODULES_CONFIG_FILES_H_
#define HEDDLE_CHECKPOINT_MODULES_CONFIG_FILES_H_

#include <string>

#include "checkpoint/modules/config.h"
#include "heddle/error.h"
#include "heddle/model.h"

namespace heddle {

struct ConfigFiles {
  std::string place;            // of `config`, for messages: the name of the file
  std::string config;           // texts
  std::string hf_quant_config;  // empty: not there
  std::string quantize_config;
  std::string hf_quant_config_place{};  // paths of these two
  std::string quantize_config_place{};

  ModelConfigTexts texts() const { return {{}, config, hf_quant_config, quantize_config}; }
};

// Where a checkpoint's config.json lies: in the folder, or beside the file.
std::string config_beside(const std::string& checkpoint);

// The same, where it is; throws Error(kFile, "checkpoint.open") with what to do where it is
// not. Precondition: heddle repack did not write the checkpoint.
std::string require_config_beside(const std::string& checkpoint);

// Throws Error(kFile, "checkpoint.open", "checkpoint.read", "checkpoint.config") for files that
// cannot be read or are larger than any config, Error(kSpec, "checkpoint.not_text") for one with a
// NUL byte and for one beside it that is empty.
ConfigFiles read_config_files(const std::string& path);
// As above, of those next to config.json alone.
void read_files_beside(const std::string& path, ConfigFiles* files);

// The error of these texts with the file of each problem in front of it.
Error at_place(const ConfigFiles& files, const Error& error);

// What the user says beside the files; as in CheckpointOptions.
struct ConfigRequest {
  bool engine_rotates = false;
  int activation_bits = 0;
  int arch = 0;

  void apply(ModelConfigTexts* texts) const;
};

// As read_checkpoint_config(texts); errors name the place.
CheckpointConfig read_checkpoint_config(const ConfigFiles& files, const ConfigRequest& request);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_MODULES_CONFIG_FILES_H_
