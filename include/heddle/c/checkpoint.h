/* Checkpoints as packed weights, on the host and on the device. heddle/checkpoint.h says what each
 * thing means, which host memory packing needs and which errors there are; examples/pack_c is an
 * example. Texts and shapes belong to the checkpoint. */
#pragma once

#include "heddle/c/base.h"

HEDDLE_C_BEGIN

typedef struct heddle_checkpoint heddle_checkpoint; /* immutable */
typedef struct heddle_uploader heddle_uploader;     /* of one thread at a time */

typedef struct heddle_checkpoint_options {
  size_t struct_size;
  heddle_text config;      /* path of config.json; empty: the one beside the tensors */
  const heddle_text* keep; /* shell patterns of tensors or modules: left as they are */
  size_t keep_count;
  const heddle_text* skip; /* left out */
  size_t skip_count;
  int64_t rank;           /* of several GPUs that share the model... */
  int64_t size;           /* ... as many as these */
  int32_t fuse;           /* 0: q_proj, k_proj, v_proj and gate_proj, up_proj each alone */
  int32_t engine_rotates; /* this and the following: as in heddle_model_texts */
  int32_t gated;          /* needs `fuse` */
  int32_t dense;
  int32_t lm_head_bits;
  int32_t activation_bits;
  int32_t arch;
  int32_t reserved;    /* 0 */
  int64_t expert_rank; /* of several GPUs that share the experts... */
  int64_t expert_size; /* ... as many as these */
} heddle_checkpoint_options;

/* Sets `struct_size` and every default: all of the model for one GPU, fused. */
HEDDLE_CALL heddle_checkpoint_options_init(heddle_checkpoint_options* options, size_t struct_size);

/* `path`: a folder, a .safetensors file, also one that `heddle repack` wrote, or a
 * model.safetensors.index.json. `options` may be null: the defaults. */
HEDDLE_CALL heddle_checkpoint_create(const char* path, size_t path_length,
                                     const heddle_checkpoint_options* options,
                                     heddle_checkpoint** checkpoint);
HEDDLE_EXPORT void heddle_checkpoint_destroy(heddle_checkpoint* checkpoint);

/* All that there is, as one JSON object: "layers" with their "parts" (the modules whose rows they
 * have, in order), "tensors" that are no part of a layer, "unserved" quantised layers with the
 * reason why no kernel takes them and their tensors, and "notes". */
HEDDLE_CALL heddle_checkpoint_json(const heddle_checkpoint* checkpoint, heddle_text* json);

/* A tensor as it is packed or copied. This struct does not grow. */
typedef struct heddle_checkpoint_tensor_info {
  heddle_text name;     /* of which `data` is null where there is no such tensor */
  heddle_text type;     /* as safetensors spell it: "U8", "F16", "BF16", "F32", "I32" ... */
  const int64_t* shape; /* row-major; null without sides */
  size_t sides;
  size_t bytes;
} heddle_checkpoint_tensor_info;

typedef struct heddle_checkpoint_layer_info {
  size_t struct_size;
  heddle_text name;       /* "model.layers.0.self_attn.qkv_proj" */
  heddle_text spec;       /* of one matrix: what heddle_kernel_create() takes */
  int64_t matrices;       /* experts, whose packed weights follow each other; else 1 */
  int32_t layout_version; /* for heddle_check_layout_version() */
  int32_t reserved;       /* 0 */
  heddle_checkpoint_tensor_info packed;      /* heddle_gemm_args: weights */
  heddle_checkpoint_tensor_info permutation; /* I32 [K], [matrices, K] */
  heddle_checkpoint_tensor_info bias;        /* bias, in the checkpoint's type */
  heddle_checkpoint_tensor_info pre_scale;   /* pre_scale, in the checkpoint's type */
  heddle_checkpoint_tensor_info input_scale; /* F32 [1], of 8-bit activations: x_scales */
} heddle_checkpoint_layer_info;

/* How many layers, and tensors that are no part of one. Both ascend by name. */
HEDDLE_CALL heddle_checkpoint_counts(const heddle_checkpoint* checkpoint, size_t* layers,
                                     size_t* tensors);
HEDDLE_CALL heddle_checkpoint_layer(const heddle_checkpoint* checkpoint, size_t index,
                                    heddle_checkpoint_layer_info* layer);
HEDDLE_CALL heddle_checkpoint_tensor(const heddle_checkpoint* checkpoint, size_t index,
                                     heddle_checkpoint_tensor_info* tensor);
/* The index of the layer, or of the tensor that is no part of one, with a name. */
HEDDLE_CALL heddle_checkpoint_find_layer(const heddle_checkpoint* checkpoint, const char* name,
                                         size_t name_length, size_t* layer);
HEDDLE_CALL heddle_checkpoint_find_tensor(const heddle_checkpoint* checkpoint, const char* name,
                                          size_t name_length, size_t* tensor);

typedef struct heddle_checkpoint_experts_info {
  size_t struct_size;
  heddle_text name; /* "model.layers.0.mlp.experts" */
  heddle_text spec; /* a moe: what heddle_kernel_create() takes */
  size_t gate_up;   /* layers; their packed weights, biases and permutation are those of
                       heddle_moe_args */
  size_t down;
  heddle_text routed; /* the moe for launches with logits; empty: its routing is not known */
} heddle_checkpoint_experts_info;

/* The layers of experts, ascending by name. */
HEDDLE_CALL heddle_checkpoint_experts_count(const heddle_checkpoint* checkpoint, size_t* count);
HEDDLE_CALL heddle_checkpoint_experts(const heddle_checkpoint* checkpoint, size_t index,
                                      heddle_checkpoint_experts_info* experts);

/* ByteSink, with runs of 8 MiB at most. Returns 0 to stop: HEDDLE_ERROR_CANCELLED. */
typedef int32_t (*heddle_sink_callback)(void* user, size_t offset, const void* data, size_t bytes);

/* The packed weights of a layer into host memory of at least packed.bytes, or to a callback. */
HEDDLE_CALL heddle_checkpoint_pack(const heddle_checkpoint* checkpoint, size_t layer, void* to,
                                   size_t bytes);
HEDDLE_CALL heddle_checkpoint_pack_to(const heddle_checkpoint* checkpoint, size_t layer,
                                      heddle_sink_callback sink, void* user);
/* Any tensor of a layer or of the others, by its name. */
HEDDLE_CALL heddle_checkpoint_read(const heddle_checkpoint* checkpoint, const char* name,
                                   size_t name_length, void* to, size_t bytes);
HEDDLE_CALL heddle_checkpoint_read_to(const heddle_checkpoint* checkpoint, const char* name,
                                      size_t name_length, heddle_sink_callback sink, void* user);

/* The caller's work for a layer, such as packing it. From any thread, `jobs` of them at the same
 * time. Returns 0 to stop: HEDDLE_ERROR_CANCELLED. */
typedef int32_t (*heddle_layer_callback)(void* user, size_t layer);
/* After the work for a layer. Returns 0 to stop. One call at a time, from any thread. */
typedef int32_t (*heddle_checkpoint_progress_callback)(void* user, size_t layer, size_t done,
                                                       size_t total, uint64_t bytes_done,
                                                       uint64_t bytes_total);
/* CheckpointReader::for_each_layer(). `progress` may be null; `user` is given to both callbacks. */
HEDDLE_CALL heddle_checkpoint_for_each_layer(const heddle_checkpoint* checkpoint,
                                             heddle_layer_callback work, int32_t jobs,
                                             heddle_checkpoint_progress_callback progress,
                                             void* user);

/* heddle/uploader.h says what must be synchronised. `staging_bytes` of page-locked host memory; 0:
 * 16 MiB. In the current context, as all of these. */
HEDDLE_CALL heddle_uploader_create(void* stream, size_t staging_bytes, heddle_uploader** uploader);
/* Waits for the copies that are under way. */
HEDDLE_EXPORT void heddle_uploader_destroy(heddle_uploader* uploader);
/* To device memory. */
HEDDLE_CALL heddle_uploader_pack(heddle_uploader* uploader, const heddle_checkpoint* checkpoint,
                                 size_t layer, heddle_output to);
HEDDLE_CALL heddle_uploader_read(heddle_uploader* uploader, const heddle_checkpoint* checkpoint,
                                 const char* name, size_t name_length, heddle_output to);
HEDDLE_CALL heddle_uploader_write(heddle_uploader* uploader, const void* from, size_t bytes,
                                  heddle_output to);
/* Waits until all has arrived. */
HEDDLE_CALL heddle_uploader_finish(heddle_uploader* uploader);

HEDDLE_C_END
