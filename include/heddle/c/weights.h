/* Weights in host memory. No function needs a GPU, CUDA or the disk. */
#ifndef HEDDLE_C_WEIGHTS_H_
#define HEDDLE_C_WEIGHTS_H_

#include <stddef.h>
#include <stdint.h>

#include "heddle/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of packed weights of a spec, of any operation. The member "layout" of heddle_plan_json()
 * says where everything lies in them. */
HEDDLE_EXPORT heddle_status heddle_packed_bytes(const char* spec, size_t spec_length,
                                                size_t* bytes);

/* Bytes of one number of a type that specs name: "fp16", "bf16", "fp32", "e8m0", "e4m3", "int8",
 * "fp8_e4m3" or "fp8_e5m2"; another word is "api.dtype". */
HEDDLE_EXPORT heddle_status heddle_dtype_bytes(const char* dtype, size_t dtype_length,
                                               int32_t* bytes);

/* Which version of the layout heddle_pack_weights() writes for a spec: to be stored with packed
 * weights, and their spec with it. Files that `heddle repack` wrote have both in their metadata. */
HEDDLE_EXPORT heddle_status heddle_layout_version(const char* spec, size_t spec_length,
                                                  int32_t* version);
/* To be asked before stored weights are used: fails with weights.layout_version unless what
 * `version` of the layout packed is what kernels of this library read. */
HEDDLE_EXPORT heddle_status heddle_check_layout_version(const char* spec, size_t spec_length,
                                                        int32_t version);
/* The same: fails with weights.mismatch, and a problem for each field, unless a kernel of the first
 * spec (a gemm, or a dequantize of packed weights) reads weights packed for the second one. */
HEDDLE_EXPORT heddle_status heddle_check_packed_weights(const char* kernel, size_t kernel_length,
                                                        const char* packed, size_t packed_length);

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
