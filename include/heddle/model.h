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

// A linear operation that no kernel of Heddle can be made for.
struct ModelUnserved {
  std::string name;    // as in the checkpoint: "down_proj"
  std::string reason;  // and what would be needed
  int layers = 0;
};

struct Model {
  std::string model_type;    // "llama", "qwen2", "bloom" ...
  std::string quant_method;  // "awq", "gptq" ...
  std::vector<ModelKernel> kernels;
  std::vector<ModelUnserved> unserved;
  std::vector<std::string> notes;  // what was left out and why ("lm_head is not quantised")
  // What the config cannot tell and was taken to be so; the checkpoint's tensors would tell.
  std::vector<std::string> assumptions;
};

// The texts of a model's config.json and of the files beside it in which some quantisers write what
// others write into its "quantization_config". Empty: there is no such file.
struct ModelConfigTexts {
  std::string_view config;
  std::string_view hf_quant_config;  // Model Optimizer's hf_quant_config.json
  std::string_view quantize_config;  // AutoGPTQ's quantize_config.json, AutoAWQ's quant_config.json
  // The engine rotates activations where the config asks for it at run time, which Heddle does not
  // do and refuses otherwise.
  bool engine_rotates = false;
};

// Throws Error(kSpec) for texts that are no such configs, Error(kUnsupported) for a model or
// quantisation that Heddle has no kernels for, with the reason. Takes what the configs cannot tell
// to be as quantisers usually write it, and says so in `assumptions`.
HEDDLE_EXPORT Model model_from_config(const ModelConfigTexts& texts);
// The same of config.json alone.
HEDDLE_EXPORT Model model_from_config(std::string_view json);

// The operations on a model's key-value cache, kv_append and decode_attention (twice where only
// some layers have a sliding window). `kv` is the JSON text of a spec's kv block; the config need
// not be quantised. Throws as model_from_config() and Spec::parse() do.
HEDDLE_EXPORT Model cache_model_from_config(std::string_view json, std::string_view kv);

}  // namespace heddle

#endif  // HEDDLE_MODEL_H_
