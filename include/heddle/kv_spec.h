// KvSpec: how a key-value cache is quantised and laid out, and the two operations that share it.
//
// docs/kv-caches-and-attention.md describes the tensors byte by byte; heddle/kv_cache.h computes
// their sizes.
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/dtype.h"

namespace heddle {

// kNvfp4: e2m1 codes in groups of 16 with e4m3 scales and one FP32 factor for the tensor.
enum class KvDtype { kFp16, kBf16, kInt8, kInt4, kInt2, kFp8E4m3, kFp8E5m2, kNvfp4 };
// Which values share one scale (and zero point).
enum class KvGranularity {
  kAuto,     // in JSON only: kNone of 16-bit values, kTensor of FP8, kGroup of NVFP4, else kHead
  kNone,     // 16-bit values, which have no scales
  kTensor,   // all of K (V) of the layer; given by the caller
  kToken,    // all heads of a token
  kHead,     // a head of a token
  kGroup,    // group_size values along head_dim of a head of a token
  kChannel,  // one element of head_dim of a head, over group_size tokens
};
// kContiguous: one run of tokens for each sequence. kPaged: pages that a block table names.
enum class KvLayout { kContiguous, kPaged };
// The order inside a page. kHnd: [heads][tokens][head_dim]. kNhd: [tokens][heads][head_dim].
enum class KvOrder { kHnd, kNhd };
// Elements that are turned together: kNeox: i and i + dim / 2; kGptj: 2i and 2i + 1.
enum class RopePairing { kNone, kNeox, kGptj };
// Their angles: kBase: position / base^(2i / dim); kTable: cosines and sines given with each
// launch.
enum class RopeSource { kBase, kTable };
// How the angles of kBase are changed for sequences that are longer than those of the training.
enum class RopeScalingType { kNone, kLinear, kLlama3, kYarn };
// kStandard: the slopes of the ALiBi paper for the number of heads. kGiven: with each launch.
enum class Alibi { kNone, kStandard, kGiven };

struct KvTensor {
  KvDtype dtype = KvDtype::kInt8;
  KvGranularity granularity = KvGranularity::kAuto;
  // Values along head_dim of kGroup, tokens of kChannel, else 0. 0 asks for the usual one: 16 with
  // NVFP4, 64 in other groups, 32 with kChannel.
  int group_size = 0;
  bool symmetric = true;  // false: integer codes with a zero point beside each scale
  // The type of stored scales; the activation's where absent. kTensor: kFp32, kNvfp4: kE4m3.
  std::optional<DType> scale_dtype{};
};

struct KvSpec {
  KvTensor k;
  KvTensor v;
  KvLayout layout = KvLayout::kPaged;
  int page_size = 64;  // tokens of a page; 0 with kContiguous
  KvOrder order = KvOrder::kHnd;
};

struct KvShape {
  int kv_heads = 0;
  int head_dim = 0;
};

// The numbers are set exactly where the type has them; docs/kv-caches-and-attention.md has the
// formulas.
struct RopeScaling {
  RopeScalingType type = RopeScalingType::kNone;
  std::optional<float> factor{};  // of every type, at least 1
  // With kLlama3 and kYarn: number of positions in training.
  std::optional<std::int64_t> original_max_position_embeddings{};
  std::optional<float> low_freq_factor{};  // of kLlama3
  std::optional<float> high_freq_factor{};
  // With kYarn; the defaults are 32, 1 and 0.1 * ln(factor) + 1.
  std::optional<float> beta_fast{};
  std::optional<float> beta_slow{};
  std::optional<float> attention_factor{};  // cosines and sines are multiplied by it
  bool truncate = true;                     // kYarn's first and last pair are whole numbers
};

struct RopeSpec {
  RopePairing pairing = RopePairing::kNone;
  int dim = 0;  // elements that are turned, the first ones of a row; 0: head_dim
  RopeSource source = RopeSource::kBase;
  std::int64_t base = 10000;
  RopeScaling scaling;
};

// An RMSNorm of each head: x / sqrt(mean(x^2) + epsilon) * (weight + weight_offset).
struct HeadNorm {
  std::optional<float> epsilon{};  // set exactly where there is a norm
  int weight_offset = 0;           // 0 or 1
};

struct KvQuery {
  int heads = 0;  // a multiple of kv_heads; 0: there is no Q
};

// K and V of new tokens, quantised into the cache, and Q of these tokens into a tensor of its own.
struct KvAppendSpec {
  KvShape shape;
  DType activation{};  // kFp16 or kBf16: of the new K and V, and of Q
  KvSpec kv;
  RopeSpec rope;  // of K and Q
  KvQuery query;
  HeadNorm norm;  // of K and Q, before they are rotated
};

struct AttentionShape {
  int heads = 0;  // query heads, a multiple of kv_heads
  int kv_heads = 0;
  int head_dim = 0;
  int query_len = 1;  // the last tokens of each sequence; each sees those up to itself
};

// softmax(Q K^T / sqrt(scale_dim) + bias) V of the last tokens of each sequence.
struct DecodeAttentionSpec {
  AttentionShape shape;
  DType activation{};  // kFp16 or kBf16: of Q and the output
  KvSpec kv;
  std::int64_t scale_dim = 0;  // 0: head_dim
  Alibi alibi = Alibi::kNone;
  std::int64_t window = 0;   // tokens that a query sees, itself included; 0: all
  int sink_tokens = 0;       // first tokens that are seen beside the window
  bool sink_logits = false;  // one logit per head more in the softmax, with no value
  std::int64_t softcap = 0;  // logits become softcap * tanh(logit / softcap); 0: not
  bool log_sum_exp = false;  // also written, FP32
};

}  // namespace heddle
