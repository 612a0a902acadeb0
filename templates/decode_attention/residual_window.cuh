// Where K's last tokens are with scales per channel, in 16 bits: [slots][heads][tokens][head_dim].
#pragma once

#include "decode_attention/attention_work.cuh"

namespace heddle {

// The row of the first token of a tile; null if the sequence has no slot.
template <class Config>
__device__ __forceinline__ const u8* residual_tile(const DecodeAttentionParameters& arguments,
                                                   const Segment& segment, int token) {
  using S = AttentionShape<Config>;
  int slot = segment.sequence;
  if (arguments.residual_slots != nullptr)
    slot = static_cast<int>(load_global_4_l2(arguments.residual_slots + slot));
  if (static_cast<u32>(slot) >= static_cast<u32>(arguments.residual_slot_count)) return nullptr;
  const i64 block = static_cast<i64>(slot) * Config::value.kv_heads + segment.head / S::kRowParts;
  const i64 row = block * S::Key::kBlockTokens + token % S::Key::kBlockTokens;
  return arguments.k_residual + row * S::kResidualRowBytes;
}

// Asks for a tile's tokens, of which `left` are there, in the L2 cache.
template <class Config>
__device__ __forceinline__ void warm_residual_tile(const DecodeAttentionParameters& arguments,
                                                   const Segment& segment, int token, int left,
                                                   int lane) {
  const u8* rows = residual_tile<Config>(arguments, segment, token);
  if (rows == nullptr) return;
  constexpr int kBytes = AttentionShape<Config>::kResidualRowBytes;
  const int bytes =
      (left < AttentionShape<Config>::kTile ? left : AttentionShape<Config>::kTile) * kBytes;
#pragma unroll 1
  for (int at = 128 * lane; at < bytes; at += 32 * 128) prefetch_l2(rows + at);
}

}  // namespace heddle
