// The configuration of decode_attention.cuh.
#pragma once

#include "config/workspace.h"
#include "kv/config.h"

namespace heddle::device {

constexpr int kAttentionTile = 32;  // tokens that a warp takes at a time
// The most sequences of a launch: a block keeps their lengths in shared memory.
constexpr int kMostSequences = 1024;
// The same where the blocks of a cluster are a team that adds in shared memory.
constexpr int kMostTeamSequences = 31;

// kE2m1 is NVFP4, whose scales multiply the codes; kHalf: values of 16 bits.
HEDDLE_ENUM(KvCode, kInt8, kInt4, kInt2, kE4m3, kE5m2, kE2m1, kHalf);

// K or V: how a tile of it lies in memory and in shared memory.
struct AttentionTensorConfig {
  KvCode code;
  KvGranularity granularity;
  int group_size;  // kGroup: elements of a row; kChannel: tokens of a block
  int scales;      // that a token has for one head: of kGroup its groups, else 1
  bool zeros;      // a zero point is stored behind each scale
  ScaleType scale_type;
  int row_bytes;    // codes of a head of a token
  int entry_bytes;  // their scales and zero points; of kChannel those of a block of tokens
  bool by_token;    // entries of a head's neighbouring tokens are neighbours, else those of heads

  HEDDLE_BOTH constexpr bool is_channel() const { return granularity == KvGranularity::kChannel; }
  // Scales of e2m1 multiply the codes, exactly, and their factor is the tensor's scale. Others
  // multiply sums or P, of which there is one for each group.
  HEDDLE_BOTH constexpr bool scales_codes() const { return code == KvCode::kE2m1; }
  HEDDLE_BOTH constexpr int groups() const { return scales_codes() ? 1 : scales; }

  // Chunks of 16 bytes of a row in shared memory are permuted by the token, or rows padded, against
  // bank conflicts.
  HEDDLE_BOTH constexpr int chunks() const { return row_bytes / 16; }
  HEDDLE_BOTH constexpr bool is_swizzled() const { return (chunks() & (chunks() - 1)) == 0; }
  HEDDLE_BOTH constexpr int row_chunks() const { return is_swizzled() ? chunks() : chunks() | 1; }
  HEDDLE_BOTH constexpr int code_tile_bytes() const { return kAttentionTile * 16 * row_chunks(); }

  // Entries of two bytes come in words of two entries: of neighbouring tokens (pairs), or of
  // neighbouring heads.
  HEDDLE_BOTH constexpr bool has_pairs() const { return entry_bytes == 2 && by_token; }
  HEDDLE_BOTH constexpr int entry_stride() const {
    return entry_bytes == 2 && !by_token ? 4 : entry_bytes;
  }
  HEDDLE_BOTH constexpr int entry_tile_bytes() const {
    return is_channel() ? entry_bytes : kAttentionTile * entry_stride();
  }

  HEDDLE_FIELDS(code, granularity, group_size, scales, zeros, scale_type, row_bytes, entry_bytes,
                by_token)
};

// A warp takes kAttentionTile tokens of one sequence and head at a time: their K, V and entries are
// a stage of its ring in shared memory.
struct DecodeAttentionConfig {
  int heads;      // of Q
  int kv_heads;   // of K and V
  int head_dim;   // elements of a row
  int query_len;  // the last tokens of each sequence, which have queries
  i64 scale_dim;  // logits are divided by its square root
  bool nhd;       // a page is [tokens][kv_heads][row], else [kv_heads][tokens][row]
  bool paged;
  int page_size;     // tokens; 1 without pages
  int window;        // tokens that a query sees, itself included; 0: all
  int sink_tokens;   // first tokens that are seen beside the window
  bool sink_logits;  // each head has one logit more in the softmax, with no value
  bool alibi;
  bool given_slopes;  // those of ALiBi, by the launch
  int softcap;        // logits become softcap * tanh(logit / softcap); 0: not
  bool log_sums;      // the logarithm of each softmax's sum is written, too
  bool dependent;     // the kernel starts while the one before it still runs
  int row_tiles;      // of 8 queries of one head of K and V, of a thread block
  int warps;          // of a thread block
  int stages;         // tiles of a warp's ring
  int most_blocks;    // that have places in the workspace
  int least_share;    // tiles of a thread block
  int most_team;      // thread blocks of a cluster that are a team
  AttentionTensorConfig k;
  AttentionTensorConfig v;

  HEDDLE_BOTH constexpr int threads() const { return 32 * warps; }
  HEDDLE_BOTH constexpr int block_rows() const { return 8 * row_tiles; }
  // Queries that share a head of K and V, and how many thread blocks they take.
  HEDDLE_BOTH constexpr int rows() const { return heads / kv_heads * query_len; }
  HEDDLE_BOTH constexpr int row_parts() const {
    return static_cast<int>(ceil_div(rows(), block_rows()));
  }

  // Shared memory, from its beginning: which tiles each sequence has among all, or what a team
  // exchanges; lengths if a window hides tiles; each warp's references and sums and where its
  // output is; how many tiles a team takes; Q; the warps' rings.
  static HEDDLE_BOTH constexpr int round_up(int value, int step) {
    return (value + step - 1) / step * step;
  }
  HEDDLE_BOTH constexpr int ends_bytes() const { return round_up(4 * (kMostSequences + 1), 16); }
  // What blocks of a team send to each other of eight rows, where the table has no sequences, of
  // which a launch with teams has few: an mbarrier and how often it was used; of each row and block
  // its reference and sum; of each block its share of the outputs, in quads.
  HEDDLE_BOTH constexpr int team_offset() const {
    return round_up(4 * (kMostTeamSequences + 1), 16);
  }
  HEDDLE_BOTH constexpr int team_stats_offset() const { return team_offset() + 16; }
  HEDDLE_BOTH constexpr int team_quads_offset() const {
    return team_stats_offset() + 16 * 8 * most_team;
  }
  HEDDLE_BOTH constexpr int team_end() const {
    return team_quads_offset() + 16 * (8 * head_dim / 4 + 4 * (most_team - 1));
  }
  HEDDLE_BOTH constexpr int lengths_offset() const {
    return most_team > 1 ? max_of(team_end(), ends_bytes()) : ends_bytes();
  }
  HEDDLE_BOTH constexpr int stats_offset() const {
    return lengths_offset() + (window > 0 ? round_up(4 * kMostSequences, 16) : 0);
  }
  HEDDLE_BOTH constexpr int places_offset() const {
    return stats_offset() + 8 * warps * block_rows();
  }
  HEDDLE_BOTH constexpr int share_offset() const { return places_offset() + 4 * (warps + 1); }
  HEDDLE_BOTH constexpr int query_offset() const { return round_up(share_offset() + 4, 128); }
  // With large heads registers hold the output, and Q is in shared memory. With scales of K per
  // channel the product of Q and the scales lies behind it.
  HEDDLE_BOTH constexpr bool has_large_heads() const { return head_dim > 192; }
  HEDDLE_BOTH constexpr int query_bytes() const {  // of a warp
    return has_large_heads() ? 16 * row_tiles * head_dim * (k.is_channel() ? 2 : 1) : 0;
  }
  HEDDLE_BOTH constexpr int ring_offset() const { return query_offset() + warps * query_bytes(); }

  // A stage: codes of K and of V, entries of K and of V. A warp's output goes where a stage was,
  // eight rows at a time, each with room for four more.
  HEDDLE_BOTH constexpr int values_offset() const { return k.code_tile_bytes(); }
  HEDDLE_BOTH constexpr int key_entries_offset() const {
    return values_offset() + v.code_tile_bytes();
  }
  HEDDLE_BOTH constexpr int value_entries_offset() const {
    return key_entries_offset() + k.entry_tile_bytes();
  }
  HEDDLE_BOTH constexpr int sum_stride() const { return head_dim + 4; }
  HEDDLE_BOTH constexpr int stage_bytes() const {
    const int tile_bytes = value_entries_offset() + v.entry_tile_bytes();
    return round_up(max_of(tile_bytes, 4 * 8 * sum_stride()), 128);
  }
  HEDDLE_BOTH constexpr int ring_bytes() const { return stages * stage_bytes(); }
  HEDDLE_BOTH constexpr int shared_bytes() const { return ring_offset() + warps * ring_bytes(); }

  // The workspace: room for a counter of each block of the largest target (4096 SMs, 4 blocks
  // each), then two slots for each block: FP32 [block rows][head_dim] and the reference and sum of
  // each row, once for every 16 elements.
  HEDDLE_BOTH constexpr int counter_bytes() const { return Workspace::kCounterBytes; }
  HEDDLE_BOTH constexpr int slot_bytes() const {
    return block_rows() * (4 * head_dim + 8 * (head_dim / 16));
  }
  HEDDLE_BOTH constexpr i64 workspace_bytes() const {
    return counter_bytes() + 2 * static_cast<i64>(most_blocks) * slot_bytes();
  }

  HEDDLE_FIELDS(heads, kv_heads, head_dim, query_len, scale_dim, nhd, paged, page_size, window,
                sink_tokens, sink_logits, alibi, given_slopes, softcap, log_sums, dependent,
                row_tiles, warps, stages, most_blocks, least_share, most_team, k, v)
};

}  // namespace heddle::device
