/* Weights in host memory. No function needs a GPU, CUDA or the disk. */
#ifndef HEDDLE_C_WEIGHTS_H_
#define HEDDLE_C_WEIGHTS_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Packed weights -------------------------------------------------------------------------- */

/* Bytes of packed weights of a spec, of any operation. */
HEDDLE_EXPORT heddle_status heddle_packed_bytes(const char* spec, size_t spec_length,
                                                size_t* bytes);

/* Where everything lies in them. A chunk is a block of row_block rows by a run of chunk_k columns:
 * first its weights, then the scales of its groups, then their zero points. Row block r's chunk c
 * starts at (r * chunks_per_row_block + c) * chunk_bytes. Metadata per channel or per tensor
 * follows all the chunks, at channel_offset + r * channel_bytes, and the tensor's scale all else.
 * docs/layouts.md describes the bytes. */
typedef struct heddle_weight_layout_info {
  size_t struct_size;
  size_t total_bytes;    /* heddle_packed_bytes() */
  size_t channel_offset; /* of metadata per channel or per tensor */
  size_t tensor_offset;  /* of the FP32 tensor scale; total_bytes if there is none */
  int64_t row_blocks;
  int64_t chunks_per_row_block;
  int32_t row_block;        /* 16 */
  int32_t chunk_k;          /* 128 */
  int32_t meta_group;       /* columns of an entry of scales */
  int32_t groups_per_chunk; /* such entries in a chunk; 0 for scales per channel or tensor */
  int32_t entry_offset;     /* columns that entry 0 begins before the chunk: column k has its scale
                               in entry (k mod chunk_k + entry_offset) / meta_group */
  int32_t chunk_bytes;      /* a multiple of 16 */
  int32_t scale_offset;     /* inside a chunk; also the bytes of its weights */
  int32_t scale_bytes;      /* of one entry: 16 scales, of row g, then of g + 8 */
  int32_t zero_offset;      /* inside a chunk; chunk_bytes if there are no zero points */
  int32_t zero_bytes;       /* of one entry of the row block: 16 zero points; 0 if none */
  int32_t channel_bytes;    /* of one row block: its scales and zero points, padded; of two levels
                               its channels' scales; 0 with scales of groups alone */
  int32_t channel_zero_offset; /* inside the row block's channel metadata */
  /* The same: 16 int32 sums of the rows' codes, ordered as scales, of integers that activations of
   * 8 bits multiply; 0: none. */
  int64_t channel_sum_offset;
  /* Of blocks of 128 by 128, for each 64 packed rows and each chunk, chunks of the same rows one
   * after the other from channel_offset on: the FP32 scales of rows whose place in their row block
   * is below 8, and of the others. 0: none. */
  int64_t block_bytes;
} heddle_weight_layout_info;
HEDDLE_EXPORT heddle_status heddle_weight_layout(const char* spec, size_t spec_length,
                                                 heddle_weight_layout_info* info);

/* Bytes of one number of a type that specs name: "fp16", "bf16", "fp32", "e8m0", "e4m3", "int8",
 * "fp8_e4m3" or "fp8_e5m2"; another word is "api.dtype". */
HEDDLE_EXPORT heddle_status heddle_dtype_bytes(const char* dtype, size_t dtype_length,
                                               int32_t* bytes);

/* Which version of the layout heddle_pack_weights() writes for a spec: to be stored with packed
 * weights. */
HEDDLE_EXPORT heddle_status heddle_layout_version(const char* spec, size_t spec_length,
                                                  int32_t* version);

/* Fails with weights.layout_version unless what `version` of the layout packed is what kernels of
 * this library read: to be asked before packed weights are used that were stored. Files that
 * `heddle repack` wrote have it in their metadata, heddle.layout. */
HEDDLE_EXPORT heddle_status heddle_check_layout_version(const char* spec, size_t spec_length,
                                                        int32_t version);

/* Fails with weights.mismatch, and a problem for each field, unless a kernel of the first spec (a
 * gemm, or a dequantize of packed weights) reads the weights that were packed for the second one.
 * Files that `heddle repack` wrote have each layer's spec in their metadata. */
HEDDLE_EXPORT heddle_status heddle_check_packed_weights(const char* kernel, size_t kernel_length,
                                                        const char* packed, size_t packed_length);

/* ---- Plain weights --------------------------------------------------------------------------- */

/* Plain arrays, as heddle/weights.h has them. */
typedef struct heddle_quantized_weights {
  size_t struct_size;   /* sizeof(heddle_quantized_weights) */
  const uint8_t* codes; /* [N, K], a byte each; of types fp16 and bf16 two, the weights */
  size_t codes_bytes;
  const void* scales; /* [N, ceil((K + group_offset) / group_size)] of scale_dtype, of blocks
                         [ceil(N / 128), ceil(K / 128)]; null with fp16
                         and bf16 */
  size_t scales_bytes;
  const void* zeros; /* as many as scales: a byte each, or of scale_dtype; null without */
  size_t zeros_bytes;
  float tensor_scale;         /* counts with "tensor_scale" only */
  const void* channel_scales; /* [N] of "channel_scale"; null without */
  size_t channel_scales_bytes;
} heddle_quantized_weights;

/* Packs on the host, for a gemm. `packed_bytes` is at least heddle_packed_bytes(). Sizes that are
 * not those of the spec are refused before anything is read, codes and integer zero points that
 * have more bits than it says before anything is written. */
HEDDLE_EXPORT heddle_status heddle_pack_weights(const char* spec, size_t spec_length,
                                                const heddle_quantized_weights* weights,
                                                void* packed, size_t packed_bytes);

/* The way back: plain arrays of packed weights. `spec`: a gemm. */
HEDDLE_EXPORT heddle_status heddle_unpack_weights(const char* spec, size_t spec_length,
                                                  const void* packed, size_t packed_bytes,
                                                  heddle_plain_weights** weights);
/* W to the nearest codes, with the same bits as a quantize_weight spec has on the GPU. `spec`: a
 * quantize_weight; `w`: [N, K] row-major of its input dtype. */
HEDDLE_EXPORT heddle_status heddle_quantize_weights(const char* spec, size_t spec_length,
                                                    const void* w, size_t w_bytes,
                                                    heddle_plain_weights** weights);
/* Arrays that belong to `weights`, in the form that heddle_pack_weights() takes. */
HEDDLE_EXPORT heddle_status heddle_plain_weights_get(const heddle_plain_weights* weights,
                                                     heddle_quantized_weights* arrays);
HEDDLE_EXPORT void heddle_plain_weights_destroy(heddle_plain_weights* weights);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_WEIGHTS_H_ */
