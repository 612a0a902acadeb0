/* Models: from a config.json to specs. No function needs a GPU, CUDA or the disk. */
#ifndef HEDDLE_C_MODEL_H_
#define HEDDLE_C_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The texts of a model's config.json and of files beside it. Empty: there is no such file. */
typedef struct heddle_model_texts {
  size_t struct_size;
  heddle_text config;          /* config.json */
  heddle_text hf_quant_config; /* Model Optimizer's hf_quant_config.json */
  heddle_text quantize_config; /* AutoGPTQ's quantize_config.json, AutoAWQ's quant_config.json */
  int32_t plain_too;           /* not 0: a model that is not quantised is described, not refused */
  int32_t engine_rotates; /* not 0: the engine does the rotations of activations that the config
                             asks for, which Heddle does not do and refuses otherwise */
  int32_t gated;  /* not 0: gate_up_proj with epilogue.gated, as a checkpoint that is opened with
                     this option is packed */
  int32_t unused; /* not read: it was padding */
  int32_t dense;  /* not 0: also kernels of dense linear layers that are not quantised, with weights
                     of the activations' 16-bit type */
  int32_t lm_head_bits;    /* 8 or 4: lm_head is quantised from 16 bits to so many, as a checkpoint
                              that is opened with this option is packed; 0: it is not */
  int32_t activation_bits; /* 16: all activations have 16 bits; 0: what the model says */
  int32_t arch; /* of the GPU, 90 for sm_90; 0: not known, and one of 8-bit activations */
} heddle_model_texts;

/* Every layer of the model with weights, and the specs of the kernels that serve them. What the
 * configs cannot tell is taken to be as quantisers usually write it, and is told as an assumption.
 * HEDDLE_ERROR_SPEC for texts that are no such configs; HEDDLE_ERROR_UNSUPPORTED for a model or a
 * quantisation that Heddle has no kernels for. */
HEDDLE_EXPORT heddle_status heddle_model_create(const heddle_model_texts* texts,
                                                heddle_model** model);
/* The operations on the model's key-value cache instead, kv_append and decode_attention, for each
 * kind of attention that its layers have. `kv`: JSON, the kv block of a spec. The config need not
 * be quantised. */
HEDDLE_EXPORT heddle_status heddle_model_create_cache(const char* config, size_t config_length,
                                                      const char* kv, size_t kv_length,
                                                      heddle_model** model);
HEDDLE_EXPORT void heddle_model_destroy(heddle_model* model);

typedef struct heddle_model_info {
  size_t struct_size;
  heddle_text model_type;   /* "llama" */
  heddle_text quant_method; /* "awq"; may be empty */
  /* The model's shape, kinds of norms, attention and experts as one JSON object, as the member
   * "model" of `heddle build --json` has them. */
  heddle_text facts;
  size_t kernel_count;
  size_t unserved_count;
  size_t layer_count;
  size_t note_count;
  size_t assumption_count;
  size_t row_count; /* of heddle_model_row() */
} heddle_model_info;
HEDDLE_EXPORT heddle_status heddle_model_get(const heddle_model* model, heddle_model_info* info);

/* A spec that the model needs a kernel of. */
typedef struct heddle_model_kernel_info {
  size_t struct_size;
  heddle_text name;   /* as engines fuse it: "qkv_proj" */
  heddle_text spec;   /* JSON, the name in it */
  heddle_text covers; /* the checkpoint's own names: "q_proj + k_proj + v_proj" */
  int64_t layers;     /* layers of the model that use it */
} heddle_model_kernel_info;
HEDDLE_EXPORT heddle_status heddle_model_kernel(const heddle_model* model, size_t index,
                                                heddle_model_kernel_info* info);

/* What stands between the linear layers of a model whose norms are RMSNorms, as row_transform
 * specs: "norm" of X alone, "add_norm" of X + residual, and "activation" of what a feed-forward
 * layer's first matrix makes, where its epilogue does not compute it. They write the 8 bits that
 * the layer behind them takes; "quantize" is of X that none of them makes. `layers` counts launches
 * of a step here, the final norm among them. No layer below refers to them, since they have no
 * matrix.
 */
HEDDLE_EXPORT heddle_status heddle_model_row(const heddle_model* model, size_t index,
                                             heddle_model_kernel_info* info);

/* An operation that no kernel can be made for. */
typedef struct heddle_model_unserved_info {
  size_t struct_size;
  heddle_text name;
  heddle_text reason; /* and what would be needed */
  int64_t layers;
} heddle_model_unserved_info;
HEDDLE_EXPORT heddle_status heddle_model_unserved(const heddle_model* model, size_t index,
                                                  heddle_model_unserved_info* info);

/* What was left out and why, and what the config cannot tell and was taken to be so. */
HEDDLE_EXPORT heddle_status heddle_model_note(const heddle_model* model, size_t index,
                                              heddle_text* note);
HEDDLE_EXPORT heddle_status heddle_model_assumption(const heddle_model* model, size_t index,
                                                    heddle_text* assumption);

/* A layer with weights, or of attention, in every decoder layer that has one alike. Modules that
 * one kernel takes together are one layer. */
typedef struct heddle_model_layer_info {
  size_t struct_size;
  heddle_text name;    /* as engines fuse it: "qkv_proj" */
  heddle_text kind;    /* "linear", "experts", "convolution", "recurrence", "tower", "cache" */
  heddle_text weights; /* "uint4, groups of 128" */
  heddle_text reason;  /* why no kernel serves it; empty where one does */
  int64_t kernel;      /* its number among the model's kernels; -1: none */
  int64_t n;           /* rows of all modules; n and k are 0 where there is no matrix */
  int64_t k;
  int64_t matrices;         /* experts of a layer; else 1 */
  int64_t module_count;     /* modules of the checkpoint, in all decoder layers together */
  const int32_t* in_layers; /* the decoder layers that have it, ascending; belongs to the model */
  size_t in_layer_count;    /* 0: it is in none of them */
  size_t part_count;        /* modules of one such layer */
  int32_t bias;             /* 1: it has a bias */
  int32_t reserved;         /* 0 */
} heddle_model_layer_info;
HEDDLE_EXPORT heddle_status heddle_model_layer(const heddle_model* model, size_t index,
                                               heddle_model_layer_info* info);

/* One of the modules of a layer, in the order of their rows. */
typedef struct heddle_model_part_info {
  size_t struct_size;
  heddle_text path; /* below the decoder layer, "self_attn.q_proj", or from the root, "lm_head" */
  int64_t n;        /* rows */
} heddle_model_part_info;
HEDDLE_EXPORT heddle_status heddle_model_part(const heddle_model* model, size_t layer, size_t part,
                                              heddle_model_part_info* info);

/* The families of models that are known, as JSON: what `heddle models --json` prints. The text
 * belongs to the library. */
HEDDLE_EXPORT heddle_status heddle_model_families(heddle_text* json);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_MODEL_H_ */
