// Scheme: how the weights of one module are quantised.
#ifndef HEDDLE_GENERATOR_MODEL_SCHEME_H_
#define HEDDLE_GENERATOR_MODEL_SCHEME_H_

#include <optional>
#include <string>

#include "heddle/spec.h"

namespace heddle {

// How the tensors of a module hold its codes; docs/checkpoints.md has the bytes of each.
enum class Storage {
  kAwq,          // <module>.qweight I32 [K, N / 8], in AWQ's order
  kAwqGemv,      // <module>.qweight I32 [N, K / 8]
  kGptq,         // <module>.qweight, a stream of bits down each column
  kPacked,       // <module>.weight_packed, a stream of bits along each row
  kQuarkPacked,  // <module>.weight I32 [K, N / 8], in AWQ's order or in that of the columns
  kPlain,        // a code to a byte, or two codes of four bits: the tensors tell the rest
};

// How the activations of one module are quantised.
struct ActivationScheme {
  DType dtype = DType::kInt8;  // of eight bits
  RowGranularity granularity = RowGranularity::kToken;
  bool symmetric = true;
  bool is_static = false;                            // with kTensor: the checkpoint has the scale
  RowScaleDtype scale_dtype = RowScaleDtype::kFp32;  // of kGroup
  std::string unserved{};  // "groups of 128 columns": what no kernel is made for; else empty

  bool operator==(const ActivationScheme&) const = default;
};

// How the weights of one module are quantised. Where the config does not say the groups they follow
// from the shape of the scales.
struct Scheme {
  Storage storage = Storage::kPlain;
  WeightType type = WeightType::kUint;
  int bits = 4;
  std::optional<int> group_size;   // columns, kPerChannel or kPerTensor
  int block_rows = 1;              // rows that share a scale: FP8 by block
  bool symmetric = true;           // the zero point is 2^(bits-1), or 0 for signed codes
  bool zero_is_minus_one = false;  // GPTQ v1 stores zero points minus one
  int word_bytes = 4;              // kGptq: of the integers that hold the stream
  bool awq_order = true;           // kQuarkPacked: the columns of a word are in AWQ's order
  std::optional<DType> scale_dtype;
  bool tensor_scale = false;
  bool act_order = false;  // the config allows it; g_idx tells
  bool pre_scale = false;
  // What kernels take in eight bits; absent where they take 16, whatever the config says.
  std::optional<ActivationScheme> activation{};
  // Why modules of this scheme cannot be read, and what would be needed; empty where they can.
  std::string unread;

  bool operator==(const Scheme&) const = default;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_SCHEME_H_
