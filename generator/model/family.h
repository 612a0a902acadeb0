// FamilyRow: what the models of one model type are made of, as a row of a table. The rows are in
// families/, one file for each group of relatives (family_table.h); decoder.h turns a row and a
// config into layers.
//
// To add a family, add a row and a config in tests/models.
#ifndef HEDDLE_GENERATOR_MODEL_FAMILY_H_
#define HEDDLE_GENERATOR_MODEL_FAMILY_H_

#include <functional>
#include <string_view>
#include <vector>

#include "generator/model/config_values.h"
#include "generator/model/model_block.h"
#include "heddle/model.h"

namespace heddle {

// What a module does, from which follows how engines split it over several GPUs.
enum class Role { kOther, kQ, kK, kV, kQkv, kOut, kGate, kUp, kGateUp, kDown };

enum class RowOrder {
  kPlain,      // all queries, then all keys, then all values; all of gate, then all of up
  kByKvHeads,  // a group for each head of keys: its queries, its key, its value
  kByPairs,    // a row of gate, then its row of up
};

enum class Module {
  kLinear,
  kConv1D,       // the same, stored as [K, N]
  kSmall,        // quantisers leave it as it is: routers, gates of one row, scorers
  kGrouped,      // `count` matrices, each of which takes columns of its own
  kExpert,       // of each of `count` experts
  kConvolution,  // n channels, k taps
  kScan,         // no matrix: the recurrence of a mixer
};

// A module of a decoder layer. Where an expression is null the config lacks a field that is needed.
struct LinearRow {
  std::string_view path;  // below the decoder layer; a * is the number of an expert
  Expression n;           // rows: outputs
  Expression k;           // columns: inputs
  Role role = Role::kOther;
  std::string_view fused = {};  // engines take neighbours of one name together, in this order
  Expression bias = "false";
  Expression when = "true";  // whether the layer has it
  Module module = Module::kLinear;
  Expression count = "1";
  RowOrder order = RowOrder::kPlain;
  Expression by_kv_heads = "true";  // whether `order` holds; else kPlain
};
using LinearRows = std::vector<LinearRow>;

struct RopeRow {
  RopePairing pairing = RopePairing::kNeox;
  Expression neox_when = "false";  // whether the pairing is kNeox instead
  Expression when = "true";
  // The member of "rope_parameters" that holds for these layers, where it has one for each kind.
  std::string_view kind = {};
  Expression part = "1";  // of a head, where the config has no partial_rotary_factor
  Expression dim = {};    // elements of a head; empty: by partial_rotary_factor
  Expression base = {};   // empty: rope_theta
  // The base where the config has none, as the model class of Transformers takes it.
  Expression class_default_base = "class_default_base";
  Expression scaling = {};  // empty: by rope_scaling or rope_parameters
};

struct AttentionRow {
  Expression heads = "heads";
  Expression kv_heads = "kv_heads";
  Expression head_dim = "head_dim";
  Expression value_dim = "value_dim";
  Expression scale_dim = "head_dim";
  Expression softcap = "0";
  Expression window = "0";
  Expression chunk = "0";
  Expression sinks = "false";
  std::string_view sinks_path = {};  // their tensor, below the decoder layer
  Expression alibi = "false";
  Expression alibi_power = "1";
  Expression alibi_factor = "1";
  Expression gate = "false";
  QkNorm qk_norm = QkNorm::kNone;
  Expression qk_norm_when = "true";
  // With kHead: the norms of heads are RMSNorms of the same kind and epsilon as the model's others
  // and come before the rotation, as in kv_append.
  bool append_norms = false;
  RopeRow rope = {};
  Expression q_rank = "0";
  Expression kv_rank = "0";
  Expression rope_dim = "0";
  Expression index_heads = "0";
  Expression index_tokens = "0";
};

struct MixerRow {
  MixerKind kind = MixerKind::kAttention;
  std::string_view name = "full_attention";
  Expression when = "true";  // the first row that holds is the layer's
  LinearRows linears = {};
  AttentionRow attention = {};
};

struct ExpertsRow {
  Expression count = "experts";
  Expression per_token = "num_experts_per_tok";
  Expression inner = "expert_inner";
  Expression latent = "0";
  Expression shared = "0";
  Expression shared_gate = "false";
  Expression scoring = "'softmax'";
  Expression groups = "1";
  Expression groups_per_token = "1";
  Expression normalised = "true";
  Expression scale = "1";
  Expression bias = "false";
  Expression expert_scales = "false";
  Expression hashed = "false";
  Expression routed = "false";        // whether these are all that the choice depends on
  Expression plain_gate = {};         // as FamilyRow's, of experts; empty: the same
  Expression clamp_limit = "0";       // of gates and ups; 0: none
  Expression clamp_factor = "1.702";  // of gates in the sigmoid of gpt-oss's clamped SwiGLU; 0: the
                                      // activation is the family's
  Expression gate_limit = "0";        // of gates in SiTU, whose ups have clamp_limit
  Expression weighs_input = "false";  // routing weights multiply what experts take
  Expression plain_shared = "true";   // shared and routed experts are added as they are
};

struct FeedForwardRow {
  FeedForwardKind kind = FeedForwardKind::kDense;
  Expression when = "true";
  LinearRows linears = {};
  ExpertsRow experts = {};
};

struct NormRow {
  NormKind kind = NormKind::kRms;
  NormPlace place = NormPlace::kBefore;
  Expression epsilon = "rms_norm_eps";
  Expression class_default_epsilon = "class_default_epsilon";  // where the config has none
  Expression kind_when = "true";                               // else kRms
  Expression parallel = "false";  // whether the place is kParallel instead
  // Whether the input of every norm behind a half is that half's output + the residual. It is not
  // where outputs or residuals are scaled or gated, or where there are several residual streams.
  Expression plain_sum = "true";
};

// What follows from a field that asks for more than the row describes.
enum class Consequence {
  kNote,           // the engine has to do it
  kAttentionNote,  // the same of attention, which those are told who ask for its kernels alone
  kNoAttention,    // the kernels of attention would compute something else: it has none
  kRefusal,        // the layers would be others: the config is refused
};

// {"given(clip_qkv)", "queries, keys and values are clamped to +-{clip_qkv} (clip_qkv)"}
struct RemarkRow {
  Expression when;        // null, since the config lacks the field, is no
  std::string_view text;  // {expression} stands for its value
  Consequence consequence = Consequence::kNote;
};

// Layers that are listed but not described: {"mtp", "num_nextn_predict_layers ?? 0", "..."}.
struct OtherRow {
  std::string_view name;
  Expression layers;
  std::string_view reason;
};

struct FamilyRow {
  std::string_view name;                      // "Llama 2 and 3"
  std::vector<std::string_view> model_types;  // of the config of the language model
  std::string_view body = "model";            // the module with the decoder layers
  std::string_view layers = "layers";         // their list in it: "model.layers.<i>"
  std::string_view head = "lm_head";
  std::vector<NamedExpression> names = {};  // beyond default_names()
  std::vector<MixerRow> mixers = {};
  std::vector<FeedForwardRow> feed_forwards = {};
  NormRow norm = {};
  Expression activation = "hidden_act ?? 'silu'";
  // The function that the model type means by "gelu", by the name that gate.h knows.
  std::string_view gelu = "gelu";
  // Whether gated feed-forward layers are activation(gate) * up and nothing more, with all gates
  // before all ups where one matrix has both.
  Expression plain_gate = "true";
  Expression tied = "tie_word_embeddings ?? root.tie_word_embeddings ?? false";
  Expression head_bias = "false";
  Expression head_width = "hidden";  // columns of the head
  Expression logit_softcap = "0";
  LinearRows outside = {};  // of the model, in no decoder layer; paths from the body
  std::vector<NamedExpression> multipliers = {};
  std::vector<OtherRow> others = {};
  std::vector<RemarkRow> remarks = {};  // beyond common_remarks()
  // Fields that configs of these types have and that their classes do not use.
  std::vector<std::string_view> unused = {};
};

// Models whose config has the language model's in a member, and whose modules are inside of others.
struct Wrapper {
  std::string_view name;                      // "Qwen VL"
  std::vector<std::string_view> model_types;  // of the whole config
  // What the family's body may be called in checkpoints, the usual name first, and the heads of the
  // same.
  std::vector<std::string_view> bodies;
  std::vector<std::string_view> heads;
  // The model type of the language model where its config has none.
  std::string_view language = {};
};

// What rows name and most configs give by the same fields: hidden, layers, heads, kv_heads,
// head_dim, value_dim (head_dim unless a row says otherwise), inner, experts, expert_inner,
// vocabulary; and layers_may_differ, whether the row reads per_layer_config, and
// class_default_epsilon, class_default_base and class_default_kv_heads, what the model class takes
// where the config says nothing.
const std::vector<NamedExpression>& default_names();

// For every family: fields that all model classes of Transformers have.
const std::vector<RemarkRow>& common_remarks();

// Every expression of the row, those of its names and remarks among them.
void for_each_expression(const FamilyRow& family, const std::function<void(Expression)>& visit);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_FAMILY_H_
