/* The C API of Heddle, for C99 and for whatever can call C (docs/engine.md).
 *
 * A function that can fail returns a heddle_status; heddle_error_message() then tells the thread
 * what was wrong. No C++ exception leaves a function. Memory comes with its size in bytes; text is
 * UTF-8 with a length. A null handle or result pointer is HEDDLE_ERROR_USAGE, "api.null";
 * destroying null does nothing. What is inspected rather than used is told as JSON, in the
 * documents that the C++ API and the command give. The C++ headers say more on each thing.
 *
 * This header has runtimes, kernels and launches. The others:
 *   heddle/c/base.h        texts, structs that grow, handles and their threads, statuses, errors
 *   heddle/c/plan.h        specs, targets, tuned tables, plans, CUDA text, builds
 *   heddle/c/launch.h      grids and arguments, to launch a cubin oneself
 *   heddle/c/model.h       from a model's config.json to specs
 *   heddle/c/weights.h     packing weights and quantising K and V on the host
 *   heddle/c/checkpoint.h  checkpoints as packed weights, on the host and on the device */
#pragma once

#include "heddle/c/base.h"
#include "heddle/c/checkpoint.h"
#include "heddle/c/launch.h"
#include "heddle/c/model.h"
#include "heddle/c/plan.h"
#include "heddle/c/weights.h"
#include "heddle/export.h"

HEDDLE_C_BEGIN

/* `level`: 0 debug, 1 info, 2 warning, 3 error. Called from any thread, one call at a time; the
 * text lives for the call. */
typedef void (*heddle_log_callback)(void* user, int32_t level, const char* text, size_t length);

typedef struct heddle_runtime_options {
  size_t struct_size;      /* sizeof(heddle_runtime_options) */
  heddle_text cache_dir;   /* a folder or layers, "rw:/folder:ro:/model.hdl"; empty: see below */
  heddle_text record_file; /* specs that are asked for are added to it; empty: $HEDDLE_RECORD */
  int64_t cache_max_bytes; /* 0 or less: no cap */
  int32_t disk_cache;      /* 0: memory only */
  int32_t strict;          /* not 0: compile nothing; what is missing is HEDDLE_ERROR_MISSING */
  int32_t jobs;            /* compilations at a time; 0: min(cores, 8) */
  heddle_log_callback log; /* null: to stderr what $HEDDLE_LOG asks for, else nothing */
  void* log_user;
  const heddle_text* read_only_roots; /* more read-only layers, searched after those of cache_dir */
  size_t read_only_root_count;
} heddle_runtime_options;

/* Sets `struct_size` and every default: the cache folder is $HEDDLE_CACHE, else
 * $XDG_CACHE_HOME/heddle, else ~/.cache/heddle, else memory only; 1 GiB; not strict. */
HEDDLE_CALL heddle_runtime_options_init(heddle_runtime_options* options, size_t struct_size);

/* `options` may be null: the defaults. Loads no library and touches no file. */
HEDDLE_CALL heddle_runtime_create(const heddle_runtime_options* options, heddle_runtime** runtime);
HEDDLE_EXPORT void heddle_runtime_destroy(heddle_runtime* runtime);

/* Files of tuned tables, "first.json:second.json", as RuntimeOptions::tuned_tables; without this
 * call, or for an empty list, $HEDDLE_TUNED. They are read for the first kernel that is planned;
 * after that this call is an error. */
HEDDLE_CALL heddle_runtime_set_tuned_tables(heddle_runtime* runtime, const char* list,
                                            size_t list_length);

/* statistics_to_json() of heddle/statistics.h. Writes at most `capacity` bytes and no zero behind
 * them; *length is that of the whole text, which grows from call to call. */
HEDDLE_CALL heddle_statistics_json(char* text, size_t capacity, size_t* length);

/* 1 if libcuda is there and has a device, else 0, and the reason is the message. */
HEDDLE_CALL heddle_runtime_has_device(heddle_runtime* runtime, int32_t* has_device);

/* Compiles or finds, and loads, in the current context; without one, in the primary context of
 * device 0. For use on `stream` (a CUstream or cudaStream_t): while that is being captured only
 * what was prepared is served, a miss is HEDDLE_ERROR_MISSING, and the capture stays valid. */
HEDDLE_CALL heddle_kernel_create(heddle_runtime* runtime, const char* spec, size_t spec_length,
                                 void* stream, heddle_kernel** kernel);
/* As above, for a plan that was made for the device at hand. It is not kept. */
HEDDLE_CALL heddle_kernel_load(heddle_runtime* runtime, const heddle_plan* plan,
                               heddle_kernel** kernel);
HEDDLE_EXPORT void heddle_kernel_destroy(heddle_kernel* kernel);

/* All kernels of a model, in parallel; the runtime keeps them, so that heddle_kernel_create()
 * neither compiles nor loads any of them later. `progress` may be null. */
HEDDLE_CALL heddle_prepare(heddle_runtime* runtime, const heddle_text* specs, size_t spec_count,
                           heddle_progress_callback progress, void* user);

/* From here on nothing more is compiled or loaded, but for what is being made: what is not ready
 * then is HEDDLE_ERROR_MISSING. */
HEDDLE_CALL heddle_runtime_seal(heddle_runtime* runtime);

/* Starts making a kernel in the background. The context must live until it is ready. */
HEDDLE_CALL heddle_request_create(heddle_runtime* runtime, const char* spec, size_t spec_length,
                                  heddle_request** request);
HEDDLE_EXPORT void heddle_request_destroy(heddle_request* request);
/* *ready: 1 once making it has ended, well or not. */
HEDDLE_CALL heddle_request_ready(heddle_request* request, int32_t* ready);
/* Waits for the kernel; fails as making it failed. */
HEDDLE_CALL heddle_request_wait(heddle_request* request, heddle_kernel** kernel);
/* What to launch on `stream` now: the kernel once it is ready, until then a prepared one that
 * computes the same, else HEDDLE_ERROR_MISSING. The streams of a capture all get the same one. */
HEDDLE_CALL heddle_request_kernel(heddle_request* request, void* stream, heddle_kernel** kernel);

/* Numbers of tokens, both inclusive. */
typedef struct heddle_m_range {
  int64_t first;
  int64_t last;
} heddle_m_range;

/* Runtime::prepare() with urgent ranges of M, one for each spec or one for all: returns once these
 * have their final kernels. Other M are served meanwhile, if need be by a general kernel: ask
 * heddle_kernel_create(), or heddle_request_kernel(), before each launch. */
HEDDLE_CALL heddle_preparation_create(heddle_runtime* runtime, const heddle_text* specs,
                                      size_t spec_count, const heddle_m_range* urgent,
                                      size_t urgent_count, heddle_progress_callback progress,
                                      void* user, heddle_preparation** preparation);
/* The background goes on without it. */
HEDDLE_EXPORT void heddle_preparation_destroy(heddle_preparation* preparation);

typedef struct heddle_preparation_info {
  size_t struct_size;
  size_t done;      /* kernels that the background has compiled */
  size_t total;     /* that were left to it; 0: none */
  int32_t ended;    /* 1: nothing more is made, well or not */
  int32_t reserved; /* 0 */
} heddle_preparation_info;
HEDDLE_CALL heddle_preparation_get(const heddle_preparation* preparation,
                                   heddle_preparation_info* info);

/* Waits until nothing more is made; fails as making the first kernel that failed did. */
HEDDLE_CALL heddle_preparation_wait(const heddle_preparation* preparation);
/* Preparation::cancel(): begins no further compilation. */
HEDDLE_CALL heddle_preparation_cancel(heddle_preparation* preparation);

/* The request of spec number `spec`: its kernels until it is ready, and then. */
HEDDLE_CALL heddle_request_of_preparation(const heddle_preparation* preparation, size_t spec,
                                          heddle_request** request);

/* Bytes of workspace: for a gemm and a moe those of a launch with this m, for other kernels the
 * most of any launch; 0 if it needs none. Set it to zero once; Kernel says which launches may share
 * one. */
HEDDLE_CALL heddle_kernel_workspace_bytes(const heddle_kernel* kernel, int64_t m, size_t* bytes);
HEDDLE_CALL heddle_kernel_max_workspace_bytes(const heddle_kernel* kernel, size_t* bytes);
typedef struct heddle_gemm_args {
  size_t struct_size; /* sizeof(heddle_gemm_args) */
  int64_t m;
  heddle_input x;         /* [M, K] of the activation's dtype, row-major */
  heddle_input weights;   /* packed; synchronise once after packing on the GPU: it is read early */
  heddle_output y;        /* [M, N], or [M, N/2] with a gated epilogue, of the output's dtype */
  heddle_input bias;      /* [N] */
  heddle_input residual;  /* as y, and may be y; where that has 8 bits as bias, and not y */
  heddle_input pre_scale; /* [K] of the activation's dtype */
  heddle_input permutation; /* [K] int32 */
  heddle_output workspace;  /* zeroed once before its first use */
  /* With activations of 8 bits: FP32 [M], or one with granularity tensor, or, with group,
     [ceil(K / 128)][x_scale_stride], of e8m0 [ceil(K / 512)][x_scale_stride] words of four groups;
     and, with symmetric false, [M] int32. A kernel before this one in the stream may write them. */
  heddle_input x_scales;
  heddle_input x_zero_points;
  int64_t x_scale_stride; /* a multiple of 4, at least m; 0: the least one */
  heddle_output y_scales; /* of y of 8 bits: with granularity tensor FP32, one, read early; with
                             group written, as x_scales with x_scale_stride 0 */
} heddle_gemm_args;

typedef struct heddle_weight_source {
  heddle_input weights;     /* packed weights, or the checkpoint's qweight */
  heddle_input scales;      /* AWQ, GPTQ: [G, N], a row for each group that W's columns touch */
  heddle_input zeros;       /* AWQ, GPTQ: qzeros */
  heddle_input group_index; /* [K] int32 */
  heddle_input permutation; /* [K] int32 */
} heddle_weight_source;

/* Launches enqueue on `stream`, allocate nothing, do not synchronise, may be captured, and refuse
 * what OperationKernel (heddle/kernel.h) says. "Read early": from sm_90 on maybe before the kernels
 * before this one in the stream have ended, so that none that may still run writes it. */
HEDDLE_CALL heddle_launch_gemm(const heddle_kernel* kernel, const heddle_gemm_args* args,
                               void* stream);
/* `w`: [N, K] of the spec's output dtype. */
HEDDLE_CALL heddle_launch_dequantize(const heddle_kernel* kernel,
                                     const heddle_weight_source* source, heddle_output w,
                                     void* stream);
/* `packed`: heddle_packed_bytes() of the spec. */
HEDDLE_CALL heddle_launch_repack(const heddle_kernel* kernel, const heddle_weight_source* source,
                                 heddle_output packed, void* stream);
/* `w`: [N, K] of the spec's input dtype. */
HEDDLE_CALL heddle_launch_quantize_weight(const heddle_kernel* kernel, heddle_input w,
                                          heddle_output packed, void* stream);

/* One of the tensors of a key-value cache. Null and 0 for what the spec does not ask for. */
typedef struct heddle_kv_tensor {
  heddle_output codes;
  heddle_output scales;
  heddle_input given;     /* FP32: a scale and, without "symmetric", a zero point; nvfp4's factor */
  heddle_output residual; /* with scales per channel: [slots][kv_heads][group_size][head_dim] */
} heddle_kv_tensor;

typedef struct heddle_kv_cache {
  heddle_kv_tensor k;
  heddle_kv_tensor v;
  int64_t pages;            /* of a contiguous cache: sequences */
  int64_t page_tokens;      /* contiguous: tokens that a sequence may have; paged: 0 or page_size */
  heddle_input block_table; /* [sequences][table_stride] int32; of a paged cache */
  int64_t table_stride;
  int64_t residual_slot_count; /* of the residual window */
  heddle_input residual_slots; /* [sequences] int32, each sequence's own one; null: its number */
} heddle_kv_cache;

typedef struct heddle_kv_append_args {
  size_t struct_size; /* sizeof(heddle_kv_append_args) */
  int64_t tokens;     /* 0: nothing is launched */
  int64_t sequences;  /* without offsets as many as tokens */
  heddle_input k;     /* [tokens][kv_heads][head_dim] of the activation's dtype */
  heddle_input v;
  int64_t k_stride; /* elements from token to token; 0: dense */
  int64_t v_stride;
  heddle_input offsets;   /* [sequences + 1] int32; null: one token for each sequence */
  heddle_input lengths;   /* [sequences] int32, the new tokens included */
  heddle_input rotations; /* [rotation_rows][rope.dim] FP32; with rope.source table */
  int64_t rotation_rows;
  heddle_kv_cache cache;
  heddle_input q; /* [tokens][query.heads][head_dim] of the activation's dtype; with query.heads */
  int64_t q_stride;    /* as k_stride */
  heddle_output q_out; /* as q, dense; may be q where that is dense */
  heddle_input k_norm; /* [head_dim] of the activation's dtype: the weights of a norm */
  heddle_input q_norm; /* the same of Q's heads */
} heddle_kv_append_args;

/* K and V of new tokens into the cache, and their Q, ready for attention, to q_out. */
HEDDLE_CALL heddle_launch_kv_append(const heddle_kernel* kernel, const heddle_kv_append_args* args,
                                    void* stream);

typedef struct heddle_decode_attention_args {
  size_t struct_size;   /* sizeof(heddle_decode_attention_args) */
  int64_t sequences;    /* at most 1024; 0: nothing is launched */
  heddle_input q;       /* [sequences][query_len][heads][head_dim] of the activation's dtype */
  heddle_output out;    /* the same */
  heddle_input lengths; /* [sequences] int32: tokens in the cache, Q's among them */
  heddle_kv_cache cache;
  heddle_input slopes;       /* [heads] FP32; with alibi given */
  heddle_input sink_logits;  /* [heads] FP32 */
  heddle_output log_sum_exp; /* [sequences][query_len][heads] FP32 */
  heddle_output workspace;   /* heddle_kernel_max_workspace_bytes(), zeroed once */
} heddle_decode_attention_args;

/* As above: attention of the last tokens of each sequence over the cache. */
HEDDLE_CALL heddle_launch_decode_attention(const heddle_kernel* kernel,
                                           const heddle_decode_attention_args* args, void* stream);

typedef struct heddle_row_transform_args {
  size_t struct_size; /* sizeof(heddle_row_transform_args) */
  int64_t m;          /* rows, in the range of shape.m; 0: nothing is launched */
  heddle_input x;     /* [m][columns] of the input's dtype, with a gate [m][2 * columns] */
  heddle_output y;    /* [m][columns] of the output's dtype; may be x with the same stride, but not
                         with an interleaved gate */
  int64_t x_stride;   /* elements from row to row; 0: dense */
  int64_t y_stride;
  heddle_output residual; /* [m][columns]: read, then the sums are written; neither x nor y */
  heddle_input weight;    /* [columns]; of a norm; read early, as is bias */
  heddle_input bias;      /* [columns] */
  /* Where Y has 8 bits; null where the spec has none of it. */
  heddle_input pre_scale;    /* [columns] of the input's dtype, as weight */
  heddle_input tensor_scale; /* one FP32, aligned to 4 bytes; with granularity tensor */
  heddle_output scales;      /* heddle_row_scale_bytes() are written: with token [m] FP32, with
                                group a matrix of G = ceil(columns / 128) groups, see ScaleLayout */
  int64_t scale_stride;      /* of groups; column_major: a multiple of 4. 0: G, or m rounded up */
  heddle_output zero_points; /* [m] int32; with symmetric false */
} heddle_row_transform_args;

/* Bytes of `scales` for m rows, at most shape.m's largest, and a scale_stride, which is refused as
 * a launch refuses it; 0 where no scales are written. Needs no device. */
HEDDLE_CALL heddle_row_scale_bytes(const char* spec, size_t spec_length, int64_t m,
                                   int64_t scale_stride, size_t* bytes);

/* As above: a norm, or an activation and a gate, of each row, in 16 or 8 bits. */
HEDDLE_CALL heddle_launch_row_transform(const heddle_kernel* kernel,
                                        const heddle_row_transform_args* args, void* stream);

typedef struct heddle_moe_args {
  size_t struct_size;
  int64_t tokens;       /* in the range of shape.tokens; 0: nothing is launched */
  heddle_input x;       /* [tokens][hidden] of the activation's dtype */
  heddle_input gate_up; /* packed weights of one local expert after the other, then of the shared
                           ones, as of the gemms of heddle_moe_gemms(); read early, as is down */
  heddle_input down;
  heddle_input ids;          /* [tokens][top_k] int32: experts of the model; one that this device
                                does not have adds nothing */
  heddle_input weights;      /* [tokens][top_k] FP32: of the router */
  heddle_output y;           /* as x; may be x or the residual */
  heddle_input gate_up_bias; /* [experts with weights][rows of gate_up] of the activation's dtype:
                                all gates, then all ups, in the order of the packed ones */
  heddle_input down_bias;    /* [experts with weights][hidden] */
  heddle_input residual;     /* as x */
  heddle_output workspace;   /* zeroed once before its first use */
  heddle_input shared_gates; /* [tokens] FP32, with routing.shared_gate */
  heddle_input permutation;  /* [experts with weights][hidden] int32, with activation.act_order */
  /* With routing.scores, in place of ids and weights: */
  heddle_input logits;          /* [tokens][experts] of routing.logits_dtype */
  heddle_input correction_bias; /* [experts] FP32, as the spec says */
  heddle_input expert_scales;   /* the same */
  heddle_output chosen_ids;     /* optional: what became of ids and weights */
  heddle_output chosen_weights;
} heddle_moe_args;

/* As above: a layer of experts. */
HEDDLE_CALL heddle_launch_moe(const heddle_kernel* kernel, const heddle_moe_args* args,
                              void* stream);

HEDDLE_C_END
