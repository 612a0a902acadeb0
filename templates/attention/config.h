// What the configurations of all attention kernels have in common: heads, logits, where a cache
// keeps its tokens, and how K and V lie in it and in shared memory.
#pragma once

#include "kv/config.h"

namespace heddle::device {

// Tokens of K and V that a warp takes at a time.
constexpr int kAttentionTile = 32;
// Queries of one head of K and V that a matrix instruction takes: the columns of S^T = K Q^T. How
// many such tiles a head of K and V has, and a thread block takes, is up to the configuration.
constexpr int kQueryTile = 8;

// kE2m1 is NVFP4, whose scales multiply the codes; kHalf: values of 16 bits.
HEDDLE_ENUM(KvCode, kInt8, kInt4, kInt2, kE4m3, kE5m2, kE2m1, kHalf);

// What stored scales multiply. kNothing: there are none, or one for the whole tensor.
HEDDLE_ENUM(ScaleUse, kNothing,
            kCodes,   // the decoded codes, exactly; the tensor's scale is a factor of all
            kSums,    // the products of a token and a group of elements: logits, or P
            kQuery);  // K's scales of a block of tokens' channels multiply Q

// K or V: its rows, and how a tile of them lies in memory and in shared memory.
struct AttentionTensorConfig {
  int head_dim;  // elements of a row; K and V may have different ones
  KvCode code;
  KvGranularity granularity;
  int group_size;  // kGroup: elements of a row; kChannel: tokens of a block
  int scales;      // that a token has for one head: of kGroup its groups, else 1
  bool zeros;      // a zero point is stored behind each scale
  ScaleType scale_type;
  int row_bytes;    // codes of a head of a token
  int entry_bytes;  // their scales and zero points; of kChannel those of a block of tokens
  bool by_token;    // entries of a head's neighbouring tokens are neighbours, else those of heads

  HEDDLE_BOTH constexpr ScaleUse scale_use() const {
    if (granularity == KvGranularity::kNone || granularity == KvGranularity::kTensor)
      return ScaleUse::kNothing;
    if (code == KvCode::kE2m1) return ScaleUse::kCodes;
    return granularity == KvGranularity::kChannel ? ScaleUse::kQuery : ScaleUse::kSums;
  }
  // Groups of a row whose products have a sum, or a P, of their own.
  HEDDLE_BOTH constexpr int groups() const { return scale_use() == ScaleUse::kCodes ? 1 : scales; }

  HEDDLE_BOTH constexpr int code_bits() const { return 8 * row_bytes / head_dim; }

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
    return scale_use() == ScaleUse::kQuery ? entry_bytes : kAttentionTile * entry_stride();
  }

  HEDDLE_FIELDS(head_dim, code, granularity, group_size, scales, zeros, scale_type, row_bytes,
                entry_bytes, by_token)
};

// What the rows of V are. kFirstOfKey, multi-head latent attention: the first elements of K's rows,
// so that a cache keeps them once, and a tile of K in shared memory is one of V, too.
HEDDLE_ENUM(ValueRows, kOwn, kFirstOfKey);

struct AttentionHeads {
  int query;  // heads of Q
  int kv;     // heads of K and V; each serves group() heads of Q
  ValueRows value_rows;

  HEDDLE_BOTH constexpr int group() const { return query / kv; }

  HEDDLE_FIELDS(query, kv, value_rows)
};

// The bias of ALiBi: no, with the standard slopes of the heads, or with slopes that a launch gives.
HEDDLE_SPEC_ENUM(Alibi, kNone, kStandard, kGiven);

// What a logit is beside the product of Q and K, and which tokens a query sees.
struct AttentionLogits {
  i64 scale_dim;  // logits are divided by its square root
  int softcap;    // logits become softcap * tanh(logit / softcap); 0: not
  Alibi alibi;
  int window;        // tokens that a query sees, itself included; 0: all
  int sink_tokens;   // first tokens that are seen beside the window
  bool sink_logits;  // each head has one logit more in the softmax, with no value

  HEDDLE_FIELDS(scale_dim, softcap, alibi, window, sink_tokens, sink_logits)
};

// Where a cache keeps the tokens of a sequence.
struct KvPages {
  bool paged;
  int page_size;  // tokens; 1 without pages
  bool nhd;       // a page is [tokens][heads][row], else [heads][tokens][row]

  HEDDLE_FIELDS(paged, page_size, nhd)
};

}  // namespace heddle::device
