// What a launch of each operation takes, and its kernel: GemmKernel, DequantizeKernel ...
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/device_memory.h"
#include "heddle/export.h"
#include "heddle/kernel.h"
#include "heddle/spec.h"

namespace heddle {

// The handle of an operation, which is made from a Kernel of it. Arguments are HEDDLE_EXPORT
// because an instance of a template is no more visible than what it is made of.
template <Op kOperation, class Args>
class HEDDLE_EXPORT HandleOf : public OperationKernel {
 public:
  static constexpr Op kOp = kOperation;
  explicit HandleOf(const Kernel& kernel) : OperationKernel(kernel, kOp) {}

  void launch(const Args& args, Stream stream) const;
};

// Y[M,N] = X[M,K] * W[N,K]^T with quantised W. Each aligned to 16 bytes, but x_scales and y_scales
// that are not of groups, and x_zero_points, to 4.
struct HEDDLE_EXPORT GemmArgs {
  DeviceInput x;  // [M, K] row-major, the activation's dtype
  // Packed. From sm_90 on it may be read before the kernels before this one in the stream have
  // ended: synchronise once after packing on the GPU.
  DeviceInput weights;
  DeviceOutput y;  // [M, GemmSpec::output_columns()] row-major, GemmSpec::output_dtype()
  // These are required exactly if the spec has them.
  DeviceInput bias;       // [N] of GemmSpec::bias_dtype(); as weights
  DeviceInput residual;   // as y, of GemmSpec::residual_dtype(); may be y of that type
  DeviceInput pre_scale;  // [K] of the activation's dtype
  // With act_order: [K] int32, packed column j of W is column permutation[j] of X. Not checked.
  DeviceInput permutation;
  DeviceOutput workspace;  // GemmKernel::workspace_bytes(m); required where that is not 0
  std::int64_t m = 0;
  // Required exactly with activations of 8 bits: FP32, [M] with granularity token, one with tensor,
  // with group as row_transform writes them in ScaleLayout::kColumnMajor.
  DeviceInput x_scales;
  DeviceInput x_zero_points;  // [M] int32, with activation.symmetric false; as x_scales
  // For groups: S in ScaleLayout, a multiple of 4 below 2^31. 0: m rounded up to one.
  std::int64_t x_scale_stride = 0;
  // Required exactly with y of 8 bits. With output.granularity tensor FP32, one, read, which no
  // kernel that still runs writes; outside of 2^-126 to 2^126 all codes are zero. With group
  // written as row_transform does in ScaleLayout::kColumnMajor, lines of m rounded up to a multiple
  // of 4; aligned to 16.
  DeviceOutput y_scales;
};

class HEDDLE_EXPORT GemmKernel : public HandleOf<Op::kGemm, GemmArgs> {
 public:
  using HandleOf::HandleOf;

  // Bytes of workspace that a launch with this M needs; 0 if none. Throws Error(kUsage, "launch.m")
  // for an M outside of shape.m.
  std::size_t workspace_bytes(std::int64_t m) const;
};

// Quantised weights as the spec's format has them, each tensor aligned to 16 bytes.
struct WeightSource {
  DeviceInput weights;  // packed weights, or the checkpoint's qweight
  DeviceInput scales;   // AWQ, GPTQ: [groups_along_k(), N] of scale_dtype
  DeviceInput zeros;    // AWQ, GPTQ: qzeros; required exactly with integer zero points
  // With act_order, [K] int32: to dequantise GPTQ the group of each column, for all else packed
  // column j is column permutation[j].
  DeviceInput group_index;
  DeviceInput permutation;
};

// `w`: [N, K] row-major, output.dtype or input.dtype. `packed`: WeightLayout::total_bytes.
struct HEDDLE_EXPORT DequantizeArgs {
  WeightSource source;
  DeviceOutput w;
};
struct HEDDLE_EXPORT RepackArgs {
  WeightSource source;
  DeviceOutput packed;
};
struct HEDDLE_EXPORT QuantizeWeightArgs {
  DeviceInput w;
  DeviceOutput packed;
};

using DequantizeKernel = HandleOf<Op::kDequantize, DequantizeArgs>;
using RepackKernel = HandleOf<Op::kRepack, RepackArgs>;
using QuantizeWeightKernel = HandleOf<Op::kQuantizeWeight, QuantizeWeightArgs>;

// One of the two tensors of a key-value cache in device memory; docs/kv-caches-and-attention.md has
// the bytes, KvCacheLayout how many they are.
struct KvCacheTensor {
  DeviceOutput codes;   // aligned to 16 bytes
  DeviceOutput scales;  // aligned to 16 bytes; required exactly where scales are stored
  // FP32: with the granularity tensor the scale and, where codes are not symmetric, the zero point;
  // with NVFP4 the factor of all scales. Required exactly there.
  DeviceInput given;
  // With scales per channel, required exactly there: the window of tokens whose block is not full,
  // [slots][kv_heads][group_size][head_dim] of the activation's dtype, aligned to 16.
  DeviceOutput residual;
};

struct KvCache {
  KvCacheTensor k;
  KvCacheTensor v;
  std::int64_t pages = 0;        // of the tensors; of a contiguous cache the sequences
  std::int64_t page_tokens = 0;  // contiguous: tokens of a sequence at most; paged: 0 or page_size
  // [sequences][table_stride] int32, required exactly for a paged cache: the pages of each
  // sequence. Pages outside of the cache are neither written nor read.
  DeviceInput block_table;
  std::int64_t table_stride = 0;
  // With scales per channel: slots of the window, and int32 [sequences], each sequence's own; null:
  // its number. A sequence whose slot is none of these has no window.
  std::int64_t residual_slot_count = 0;
  DeviceInput residual_slots;
};

// K and V of new tokens, and Q where the spec has it. Memory may change between replays of a graph.
struct HEDDLE_EXPORT KvAppendArgs {
  DeviceInput k;  // [tokens][kv_heads][head_dim] of the activation's dtype
  DeviceInput v;
  std::int64_t k_stride = 0;  // elements from token to token, multiples of 8 below 2^31; 0: dense
  std::int64_t v_stride = 0;
  std::int64_t tokens = 0;     // 0: nothing is launched
  std::int64_t sequences = 0;  // without offsets as many as tokens
  // [sequences + 1] int32: sequence s has the tokens offsets[s] to offsets[s + 1]. Null: one each.
  DeviceInput offsets;
  DeviceInput lengths;  // [sequences] int32: tokens in the cache, the new ones among them
  // With rope.source table, required exactly there: FP32 [rotation_rows][rope.dim], of each
  // position the cosines of all pairs, then their sines. Tokens beyond it are not written.
  DeviceInput rotations;
  std::int64_t rotation_rows = 0;
  KvCache cache;
  // With query.heads, both required exactly there: Q, [tokens][query.heads][head_dim] of the
  // activation's dtype, and where it goes, dense, normalised and rotated as K. It may be Q itself
  // if that is dense, else it overlaps with no other memory. Tokens whose position is negative or
  // beyond the rotations are not written.
  DeviceInput q;
  std::int64_t q_stride = 0;
  DeviceOutput q_out;
  DeviceInput k_norm;  // with a norm, required exactly there: [head_dim] of the activation's dtype
  DeviceInput q_norm;
};

using KvAppendKernel = HandleOf<Op::kKvAppend, KvAppendArgs>;

// Attention of the last tokens of each sequence over a key-value cache. Memory may change between
// replays of a graph. Q and the output are dense. Memory is aligned to 16 bytes, that of 32-bit
// numbers to 4.
struct HEDDLE_EXPORT DecodeAttentionArgs {
  DeviceInput q;               // [sequences][query_len][heads][head_dim] of the activation's dtype
  DeviceOutput out;            // the same
  std::int64_t sequences = 0;  // at most 1024; 0: nothing is launched
  // [sequences] int32, tokens in the cache, those of Q among them. Without tokens the output is
  // zero. Sequences times the tokens that each may have, rounded up to 32, are fewer than 2^31.
  DeviceInput lengths;
  KvCache cache;
  DeviceInput slopes;        // [heads] FP32; required exactly with alibi given
  DeviceInput sink_logits;   // [heads] FP32; required exactly with sink_logits
  DeviceOutput log_sum_exp;  // [sequences][query_len][heads] FP32; required exactly with it
  DeviceOutput workspace;    // max_workspace_bytes()
};

using DecodeAttentionKernel = HandleOf<Op::kDecodeAttention, DecodeAttentionArgs>;

// Norms, activations and gates on the rows of a matrix, in 16 or 8 bits;
// docs/kv-caches-and-attention.md has the formulas. Each aligned to 16 bytes, tensor_scale to 4. Y
// of 16 bits may be X with the same stride, but not with an interleaved gate. No two others may
// overlap.
struct HEDDLE_EXPORT RowTransformArgs {
  DeviceInput x;              // [m][columns] of input.dtype, with a gate [m][2 * columns]
  DeviceOutput y;             // [m][columns] of output.dtype
  std::int64_t x_stride = 0;  // elements from row to row, multiples of 8 below 2^31; 0: dense
  std::int64_t y_stride = 0;
  // [m][columns], dense; required exactly if the spec has one. Read, then replaced by X + residual.
  DeviceOutput residual;
  // [columns]; required exactly with a norm. From sm_90 on it may be read before the kernels before
  // this one in the stream have ended.
  DeviceInput weight;
  DeviceInput bias;    // [columns]; the same, with norm.bias
  std::int64_t m = 0;  // rows, in the range of shape.m; 0: nothing is launched

  // Where Y has 8 bits. Each is required exactly as its comment says.
  DeviceInput pre_scale;     // [columns] of input.dtype; with output.pre_scale; as weight
  DeviceInput tensor_scale;  // one FP32; with granularity tensor; the kernel before may write it
  // With token [m] FP32, with group a matrix of output.scale_dtype; see ScaleLayout.
  DeviceOutput scales;
  // For groups: S in ScaleLayout, column_major a multiple of 4. 0: G, or m rounded up to one.
  std::int64_t scale_stride = 0;
  DeviceOutput zero_points;  // [m] int32; with symmetric false
};

// Bytes of RowTransformArgs::scales for m rows; 0 where none are written. Precondition: a launch
// takes m and the stride.
HEDDLE_EXPORT std::size_t row_scale_bytes(const RowTransformSpec& spec, std::int64_t m,
                                          std::int64_t scale_stride = 0) noexcept;

using RowTransformKernel = HandleOf<Op::kRowTransform, RowTransformArgs>;

// A layer of experts: MoeSpec has the formula. Everything happens on the device: a captured graph
// serves every choice of experts for its number of tokens. Each aligned to 16 bytes, but ids,
// weights, logits and what has a number for each expert or token to one element. Y may be X or the
// residual.
struct HEDDLE_EXPORT MoeArgs {
  DeviceInput x;  // [tokens][hidden] of the activation's dtype
  // Packed weights of one local expert after the other and then of the shared ones, each as of a
  // gemm of moe_gemms(). From sm_90 on they may be read before the kernels before this one in the
  // stream have ended.
  DeviceInput gate_up;
  DeviceInput down;
  // [tokens][top_k] int32, experts of the model; one that this device does not have adds nothing.
  // Both required exactly where the spec has no logits.
  DeviceInput ids;
  DeviceInput weights;      // [tokens][top_k] FP32
  DeviceOutput y;           // as x; overwritten
  std::int64_t tokens = 0;  // in the range of shape.tokens; 0: nothing is launched
  // [experts][rows of gate_up] and [experts][hidden] of the activation's dtype, of the experts
  // whose weights there are; required exactly with epilogue.bias. Rows of gate_up are all gates,
  // then all ups, in the order of the packed ones.
  DeviceInput gate_up_bias;
  DeviceInput down_bias;
  DeviceInput residual;  // as x; required exactly with epilogue.residual
  // MoeKernel::workspace_bytes(tokens) at least, zeroed once before its first use.
  DeviceOutput workspace;
  // Each required exactly where the spec has it: [tokens][experts] of routing.logits_dtype, and
  // [experts] FP32.
  DeviceInput logits;
  DeviceInput correction_bias;
  DeviceInput expert_scales;
  DeviceInput shared_gates;  // [tokens] FP32; required exactly with routing.shared_gate
  // [experts][hidden] int32, of the experts whose weights there are; required exactly with
  // activation.act_order. Not checked.
  DeviceInput permutation;
  // Optional, of a spec with logits: the ids and weights that this launch has found, as above.
  DeviceOutput chosen_ids;
  DeviceOutput chosen_weights;
};

class HEDDLE_EXPORT MoeKernel : public HandleOf<Op::kMoe, MoeArgs> {
 public:
  using HandleOf::HandleOf;

  // What a launch with so many tokens needs. Throws Error(kUsage, "launch.m").
  std::size_t workspace_bytes(std::int64_t tokens) const;
};

}  // namespace heddle
