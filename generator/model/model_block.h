// ModelBlock: decoder layers that are alike.
#ifndef HEDDLE_GENERATOR_MODEL_MODEL_BLOCK_H_
#define HEDDLE_GENERATOR_MODEL_MODEL_BLOCK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kv_spec.h"
#include "heddle/model.h"

namespace heddle {

// Norms of queries and keys: each head with the same weights, or with its own, all heads at once,
// each head without weights.
enum class QkNorm { kNone, kHead, kEachHead, kAll, kUnit };
// kCrossAttention: to keys and values of an encoder.
enum class MixerKind {
  kNone,
  kAttention,
  kCrossAttention,
  kLatentAttention,
  kLinearAttention,
  kMamba
};
enum class FeedForwardKind { kNone, kDense, kExperts };

struct ModelRope {
  RopePairing pairing = RopePairing::kNone;  // kNone: queries and keys are not turned
  std::int64_t dim = 0;                      // elements of a head that are turned
  double base = 0;                           // of the frequencies; 0 without rotations
  std::string scaling;  // "llama3", "yarn" ...; empty: position / base^(2i / dim)
  // The numbers of the scaling, as the config has them: {"factor", 8} ...; 1 stands for true.
  std::vector<std::pair<std::string, double>> parameters;
};

struct ModelAttention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;   // of queries and keys
  std::int64_t value_dim = 0;  // of values
  double scale_dim = 0;        // scores are divided by its square root; 0: they are not
  double softcap = 0;          // 0: none
  std::int64_t window = 0;     // tokens that a query sees, itself included; 0: all
  std::int64_t chunk = 0;      // a query sees those of its own run of so many tokens; 0: all
  bool sinks = false;          // one logit per head more in the softmax
  bool alibi = false;
  // With alibi: its slopes are alibi_factor * standard slope^alibi_power.
  double alibi_power = 1;
  double alibi_factor = 1;
  bool gate = false;  // the output is multiplied by a sigmoid of the input
  QkNorm qk_norm = QkNorm::kNone;
  ModelRope rope;
  // With kLatentAttention, ranks of its projections. q_rank 0: queries are not compressed.
  std::int64_t q_rank = 0;
  std::int64_t kv_rank = 0;
  std::int64_t rope_dim = 0;  // elements of a key that all heads share
  // Sparse attention: index_heads heads of an indexer choose index_tokens tokens; 0: there is none.
  std::int64_t index_heads = 0;
  std::int64_t index_tokens = 0;
};

struct ModelExperts {
  std::int64_t count = 0;
  std::int64_t per_token = 0;
  std::int64_t inner = 0;   // rows of an expert's first matrices
  std::int64_t latent = 0;  // width of what experts take; 0: the model's
  std::int64_t shared = 0;  // experts that every token takes
  bool shared_gate = false;
  std::string scoring;  // "softmax", "sigmoid" ...
  std::int64_t groups = 1;
  std::int64_t groups_per_token = 1;
  bool normalised = false;     // the chosen experts' weights are divided by their sum
  double scale = 1;            // they are multiplied by it
  bool bias = false;           // the choice has a bias that the weights do not have
  bool expert_scales = false;  // the weight of each expert is multiplied by a factor of its own
  bool hashed = false;         // the token's number chooses, not a score
  // Whether all of the choice follows from these members, as RouterSpec has it.
  bool routed = false;
  // Between an expert's matrices there is activation(gate) * up, or activation(up), and no more.
  bool plain_gate = true;
  // Not 0: gates are at most this, and ups at most this far from 0. Then the factor, if it is not
  // 0, is that of gates in the sigmoid of gpt-oss's clamped SwiGLU, which is the activation.
  double clamp_limit = 0;
  double clamp_factor = 0;
  double gate_limit = 0;  // of gates, where the activation is SiTU; clamp_limit is that of its ups
  bool weighs_input = false;  // routing weights multiply what an expert takes, not what it makes
  bool plain_shared = true;   // the outputs of shared and routed experts are added as they are
};

// Decoder layers that are alike, as a graph of operations takes them.
struct ModelBlock {
  std::vector<int> layers;  // ascending
  MixerKind mixer = MixerKind::kNone;
  std::string mixer_name;  // "full_attention", "sliding_attention", "mamba" ...
  ModelAttention attention;
  FeedForwardKind feed_forward = FeedForwardKind::kNone;
  ModelExperts experts;
};

// None where they are not known.
inline const std::vector<ModelBlock>& blocks_of(const ModelFacts& facts) {
  static const std::vector<ModelBlock> kNone;
  return facts.blocks == nullptr ? kNone : *facts.blocks;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_MODEL_BLOCK_H_
