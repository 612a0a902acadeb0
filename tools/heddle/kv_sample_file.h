// K and V of a model, from a safetensors file, for `heddle kv-error`.
#ifndef HEDDLE_TOOLS_HEDDLE_KV_SAMPLE_FILE_H_
#define HEDDLE_TOOLS_HEDDLE_KV_SAMPLE_FILE_H_

#include <cstdint>
#include <string>

#include "heddle/kv_spec.h"
#include "tools/heddle/kv_error_measure.h"

namespace heddle {

// The tensors "k" and "v", [tokens][kv_heads][head_dim], and "q", [heads][head_dim], if there is
// one; F16, BF16 or F32, rounded to `dtype`. Without "q" it is random. Only the first `most_heads`
// heads of K and V are taken, with their heads of Q.
//
// Throws Error(kFile): "checkpoint.open", "checkpoint.read", "checkpoint.header", and
// "tool.kv_data" for tensors that are missing, of another type or of a shape that does not go with
// `shape`, and for values that are not finite.
KvSample read_kv_sample(const std::string& path, const AttentionShape& shape, int most_heads,
                        DType dtype, std::uint32_t seed);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_KV_SAMPLE_FILE_H_
