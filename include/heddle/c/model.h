/* Models: from a config.json to specs. No function needs a GPU, CUDA or the disk. */
#pragma once

#include "heddle/c/base.h"

HEDDLE_C_BEGIN

/* The texts of a model's config.json and of files beside it (empty: there is no such file), and
 * what is made of them. heddle/model.h says more on each. */
typedef struct heddle_model_texts {
  size_t struct_size;
  heddle_text config;          /* config.json */
  heddle_text hf_quant_config; /* Model Optimizer's hf_quant_config.json */
  heddle_text quantize_config; /* AutoGPTQ's quantize_config.json, AutoAWQ's quant_config.json */
  int32_t plain_too;           /* not 0: a model that is not quantised is described, not refused */
  int32_t engine_rotates;      /* not 0: the engine rotates activations where the config asks */
  int32_t gated;               /* not 0: gate_up_proj with epilogue.gated */
  int32_t dense;               /* not 0: kernels of 16-bit weights for dense layers, too */
  int32_t lm_head_bits;        /* 8 or 4: lm_head is quantised to so many; 0: it is not */
  int32_t activation_bits;     /* 16: all activations have 16 bits; 0: what the model says */
  int32_t arch; /* of the GPU, 90 for sm_90; 0: not known, and one of 8-bit activations */
} heddle_model_texts;

/* The specs of the kernels that the model needs. What the configs cannot tell is taken to be as
 * quantisers usually write it, and is told as an assumption. HEDDLE_ERROR_SPEC for texts that are
 * no such configs; HEDDLE_ERROR_UNSUPPORTED for a model or a quantisation without kernels. */
HEDDLE_CALL heddle_model_create(const heddle_model_texts* texts, heddle_model** model);
/* cache_model_from_config(): the operations on the model's key-value cache instead. */
HEDDLE_CALL heddle_model_create_cache(const char* config, size_t config_length, const char* kv,
                                      size_t kv_length, heddle_model** model);
HEDDLE_EXPORT void heddle_model_destroy(heddle_model* model);

/* How many specs the two functions below give. */
HEDDLE_CALL heddle_model_counts(const heddle_model* model, size_t* kernels, size_t* rows);
typedef struct heddle_model_kernel_info {
  size_t struct_size;
  heddle_text name;   /* as engines fuse it: "qkv_proj" */
  heddle_text spec;   /* JSON, the name in it */
  heddle_text covers; /* the checkpoint's own names: "q_proj + k_proj + v_proj" */
  int64_t layers;     /* layers of the model that use it */
  heddle_text routed; /* of experts: the spec for launches with logits; empty: not known */
} heddle_model_kernel_info;
/* The spec of a kernel for matrices or, of heddle_model_create_cache(), for the cache. */
HEDDLE_CALL heddle_model_kernel(const heddle_model* model, size_t index,
                                heddle_model_kernel_info* info);
/* One of Model::rows: a row_transform between linear layers. */
HEDDLE_CALL heddle_model_row(const heddle_model* model, size_t index,
                             heddle_model_kernel_info* info);

/* The model as one JSON object: "model_type", "quant_method", "kernels" and "rows" as above, every
 * layer with weights with its modules, shape and kernel or the reason why it has none ("layers"),
 * "unserved" operations with their reason, "notes" of what was left out, "assumptions", and the
 * model's shape ("model"), the latter as `heddle build --json` has them. */
HEDDLE_CALL heddle_model_json(const heddle_model* model, heddle_text* json);
/* Notes, assumptions and operations that no kernel can be made for, in words, one a line; empty
 * without any. */
HEDDLE_CALL heddle_model_remarks(const heddle_model* model, heddle_text* text);

/* The families of models that are known, as JSON: what `heddle models --json` prints. The text
 * belongs to the library. */
HEDDLE_CALL heddle_model_families(heddle_text* json);

HEDDLE_C_END
