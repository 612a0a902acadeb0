// Model: from a Hugging Face config.json to the specs of every kernel that the model needs.
#ifndef HEDDLE_MODEL_H_
#define HEDDLE_MODEL_H_

#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"
#include "heddle/spec.h"

namespace heddle {

// One quantised linear operation of the model. spec.name() is the operation's name as engines fuse
// it: "qkv_proj", "o_proj", "gate_up_proj", "down_proj" ...
struct ModelKernel {
  Spec spec;
  int layers = 0;      // how many layers of the model use it
  std::string covers;  // the checkpoint's own names: "q_proj + k_proj + v_proj"
};

struct Model {
  std::string model_type;    // "llama", "qwen2", "bloom" ...
  std::string quant_method;  // "awq", "gptq" ...
  std::vector<ModelKernel> kernels;
  std::vector<std::string> notes;  // what was left out and why ("lm_head is not quantised")
};

// `json` is the text of config.json with its "quantization_config". Throws Error(kSpec) for a text
// that is not such a config, Error(kUnsupported) for a model or quantisation that Heddle has no
// kernels for, with the reason.
HEDDLE_EXPORT Model model_from_config(std::string_view json);

// The operations on a model's key-value cache, kv_append and decode_attention (twice where only
// some layers have a sliding window). `kv` is the JSON text of a spec's kv block; the config need
// not be quantised. Throws as model_from_config() and Spec::parse() do.
HEDDLE_EXPORT Model cache_model_from_config(std::string_view json, std::string_view kv);

}  // namespace heddle

#endif  // HEDDLE_MODEL_H_
