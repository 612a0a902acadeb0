// CheckpointConfig: what config.json says about how a checkpoint's tensors are to be read.
#ifndef HEDDLE_CHECKPOINT_CONFIG_H_
#define HEDDLE_CHECKPOINT_CONFIG_H_

#include <optional>
#include <string>
#include <string_view>

#include "heddle/spec.h"

namespace heddle {

// Bits and group sizes are read from the tensors themselves where these tell; the config decides
// what they do not tell, and must agree with them.
struct CheckpointConfig {
  enum class Method { kNone, kAwq, kGptq, kCompressedTensors, kFp8, kMxfp4, kModelopt };

  Method method = Method::kNone;
  std::optional<DType> dtype;  // torch_dtype: kFp16 or kBf16, else absent
  int bits = 0;                // 0: not said
  int group_size = 0;          // 0: not said; kPerChannel: one group of all K
  bool symmetric = false;
  bool zero_is_minus_one = false;  // GPTQ v1 stores zero points minus one
  int fp8_block_n = 128;           // of FP8 scales by block
  int fp8_block_k = 128;
};

// `json` is the text of config.json. Throws Error(kSpec) for a text that is not such a config,
// Error(kUnsupported, "checkpoint.quantization") for a quantisation that cannot be read.
CheckpointConfig read_checkpoint_config(std::string_view json);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_CONFIG_H_
