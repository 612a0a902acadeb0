#include "generator/model/decoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/model/config_checks.h"
#include "generator/model/config_fields.h"
#include "generator/model/family_table.h"
#include "generator/model/rope.h"
#include "generator/model/routing_fields.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostHidden = 1 << 20;
constexpr std::int64_t kMostRows = std::int64_t{1} << 30;
constexpr std::int64_t kMostHeads = 1 << 16;
constexpr std::int64_t kMostLayers = 1 << 12;
constexpr std::int64_t kMostExperts = 1 << 16;
constexpr std::int64_t kLongest = std::int64_t{1} << 30;

bool same(const ModelRope& a, const ModelRope& b) {
  return a.pairing == b.pairing && a.dim == b.dim && a.base == b.base && a.scaling == b.scaling &&
         a.parameters == b.parameters;
}

bool same(const ModelAttention& a, const ModelAttention& b) {
  return a.heads == b.heads && a.kv_heads == b.kv_heads && a.head_dim == b.head_dim &&
         a.value_dim == b.value_dim && a.scale_dim == b.scale_dim && a.softcap == b.softcap &&
         a.window == b.window && a.chunk == b.chunk && a.sinks == b.sinks && a.alibi == b.alibi &&
         a.alibi_power == b.alibi_power && a.alibi_factor == b.alibi_factor && a.gate == b.gate &&
         a.qk_norm == b.qk_norm && same(a.rope, b.rope) && a.q_rank == b.q_rank &&
         a.kv_rank == b.kv_rank && a.rope_dim == b.rope_dim && a.index_heads == b.index_heads &&
         a.index_tokens == b.index_tokens;
}

bool same(const ModelExperts& a, const ModelExperts& b) {
  return a.count == b.count && a.per_token == b.per_token && a.inner == b.inner &&
         a.latent == b.latent && a.shared == b.shared && a.shared_gate == b.shared_gate &&
         a.scoring == b.scoring && a.groups == b.groups &&
         a.groups_per_token == b.groups_per_token && a.normalised == b.normalised &&
         a.scale == b.scale && a.bias == b.bias && a.expert_scales == b.expert_scales &&
         a.hashed == b.hashed && a.routed == b.routed && a.plain_gate == b.plain_gate &&
         a.clamp_limit == b.clamp_limit && a.clamp_factor == b.clamp_factor &&
         a.gate_limit == b.gate_limit && a.weighs_input == b.weighs_input &&
         a.plain_shared == b.plain_shared;
}

bool alike(const DecodedBlock& a, const DecodedBlock& b) {
  return a.facts.mixer == b.facts.mixer && a.facts.mixer_name == b.facts.mixer_name &&
         a.facts.feed_forward == b.facts.feed_forward &&
         same(a.facts.attention, b.facts.attention) && same(a.facts.experts, b.facts.experts) &&
         a.linears == b.linears;
}

// Works out the rows of one family for one config.
class Interpreter {
 public:
  Interpreter(const FamilyRow& family, const ConfigReader& config, const ConfigReader& root,
              DecodedParts parts)
      : family_(family),
        config_(config),
        values_(config, root, default_names(), family.names),
        parts_(parts) {}

  Decoder decode() {
    Decoder decoder;
    decoder.family = &family_;
    decoder.hidden = values_.size("hidden", kMostHidden);
    decoder.layers = values_.size("layers", kMostLayers);
    if (parts_ == DecodedParts::kAll && config_.findings().empty()) {
      check_expert_fields(family_, config_, decoder.layers);
      config_.findings().throw_if_any();
    }
    for (std::int64_t layer = 0; layer < decoder.layers; ++layer) {
      values_.set_layer(layer);
      add_layer(static_cast<int>(layer), &decoder);
      // What is wrong with the first layer is wrong with all of them.
      config_.findings().throw_if_any();
      if (values_.depends_on_layer()) continue;
      std::vector<int>& alike = decoder.blocks.front().facts.layers;
      for (std::int64_t other = 1; other < decoder.layers; ++other) {
        alike.push_back(static_cast<int>(other));
      }
      break;
    }
    values_.set_layer(0);
    if (parts_ == DecodedParts::kAll) add_rest(&decoder);
    for (const RemarkRow& row : common_remarks()) add_remark(row, &decoder);
    for (const RemarkRow& row : family_.remarks) add_remark(row, &decoder);
    config_.findings().throw_if_any();
    decoder.ignored_routing = fmt::format("{}", fmt::join(ignored_routing_, ", "));
    decoder.assumptions = values_.assumptions();
    const std::string unknown = unknown_fields(family_, config_.whole());
    if (!unknown.empty()) {
      decoder.assumptions.push_back(
          "Heddle does not know these fields of this model type and ignores them: " + unknown);
    }
    return decoder;
  }

 private:
  // The text is that of the first layer that it holds for.
  void add_remark(const RemarkRow& row, Decoder* decoder) {
    for (std::int64_t layer = 0; layer < decoder->layers; ++layer) {
      values_.set_layer(layer);
      const bool holds = !values_.value(row.when).is_null() && values_.flag(row.when);
      config_.findings().throw_if_any();
      if (holds && row.consequence == Consequence::kRefusal) refuse(row);
      if (holds) {
        decoder->remarks.push_back({row.consequence, filled(row.text)});
        return;
      }
      if (!values_.depends_on_layer()) return;
    }
  }

  [[noreturn]] void refuse(const RemarkRow& row) {
    const auto seen = values_.seen(row.when);
    throw Error(ErrorCategory::kUnsupported, "model.field",
                {{seen.empty() ? "" : seen.front().first, filled(row.text),
                  seen.empty() ? "" : seen.front().second, "", ""}});
  }

  // The text with values in place of its {expressions}.
  std::string filled(std::string_view text) {
    std::string result;
    while (true) {
      const std::size_t begin = text.find('{');
      result += text.substr(0, begin);
      if (begin == text.npos) return result;
      const std::size_t end = text.find('}', begin);
      result += shown(values_.value(text.substr(begin + 1, end - begin - 1)));
      text.remove_prefix(end + 1);
    }
  }

  // What is in no decoder layer or the same in all of them.
  void add_rest(Decoder* model) {
    Decoder& decoder = *model;
    decoder.outside = linears(family_.outside);
    decoder.tied = values_.flag(family_.tied);
    decoder.head_bias = values_.flag(family_.head_bias);
    decoder.head_width = values_.size(family_.head_width, kMostHidden);
    decoder.norm = values_.flag(family_.norm.kind_when) ? family_.norm.kind : NormKind::kRms;
    decoder.norm_place =
        values_.flag(family_.norm.parallel) ? NormPlace::kParallel : family_.norm.place;
    const ConfigValue epsilon = values_.value(family_.norm.epsilon);
    if (!epsilon.is_null()) {
      decoder.norm_epsilon = norm_epsilon(epsilon);
    } else if (decoder.norm != NormKind::kNone) {
      decoder.norm_epsilon = values_.number(family_.norm.class_default_epsilon);
      values_.assume("the epsilon of norms is " + plain(decoder.norm_epsilon) +
                     ", since the config has none");
    }
    decoder.plain_sum = values_.flag(family_.norm.plain_sum);
    decoder.activation = activation_name(family_, values_.text(family_.activation));
    decoder.gate = gate_rule(family_, values_);
    decoder.logit_softcap = values_.number(family_.logit_softcap);
    for (const NamedExpression& multiplier : family_.multipliers) {
      decoder.multipliers.emplace_back(multiplier.name, values_.number(multiplier.is));
    }
    for (const OtherRow& other : family_.others) {
      const std::int64_t count = values_.count(other.layers, kMostLayers);
      if (count == 0) continue;
      decoder.others.push_back(
          {std::string(other.name), static_cast<int>(count), std::string(other.reason)});
    }
    const ConfigValue vocabulary = values_.value("vocabulary");
    if (!vocabulary.is_null()) decoder.vocabulary = values_.size("vocabulary", kMostRows);
  }

  double norm_epsilon(const ConfigValue& value) {
    if (value.kind != ConfigValue::Kind::kNumber || value.is_boolean) {
      values_.add("wrong_type", {value.pointer, "must be a number", shown(value), "", ""});
    } else if (!(value.number > 0)) {
      values_.add("out_of_range",
                  {value.pointer, "is out of range", shown(value), "a number greater than 0", ""});
    }
    return value.number;
  }

  // The first row whose condition holds.
  template <typename Row>
  const Row* choose(const std::vector<Row>& rows, const char* what) {
    std::vector<Expression> asked;
    for (const Row& row : rows) {
      asked.push_back(row.when);
      const ConfigValue value = values_.value(row.when);
      if (!value.is_null() && values_.flag(row.when)) return &row;
    }
    const std::string fields = values_.fields_of(asked);
    values_.add("unknown_layer", {config_.pointer("model_type"),
                                  std::string("no kind of ") + what + " of this model type fits " +
                                      (fields.empty() ? "the config" : fields),
                                  "", names_of(rows), ""});
    return nullptr;
  }

  static std::string names_of(const std::vector<MixerRow>& rows) {
    std::string names;
    for (const MixerRow& row : rows) {
      names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    return names;
  }
  static std::string names_of(const std::vector<FeedForwardRow>& /*rows*/) {
    return "dense layers or experts";
  }

  void add_layer(int layer, Decoder* decoder) {
    DecodedBlock block;
    const FeedForwardRow* feed_forward = nullptr;
    const MixerRow* const mixer = choose(family_.mixers, "attention or mixer");
    if (mixer == nullptr) return;
    block.facts.mixer = mixer->kind;
    block.facts.mixer_name = mixer->name;
    if (mixer->kind == MixerKind::kAttention || mixer->kind == MixerKind::kLatentAttention) {
      block.facts.attention = attention(mixer->attention);
      if (block.facts.attention.sinks) block.sinks_path = mixer->attention.sinks_path;
    }
    if (parts_ == DecodedParts::kAll) {
      block.linears = linears(mixer->linears);
      block.halves += mixer->kind != MixerKind::kNone || !block.linears.empty() ? 1 : 0;
      feed_forward = add_feed_forward(&block);
    }
    const auto known = std::find_if(decoder->blocks.begin(), decoder->blocks.end(),
                                    [&](const auto& other) { return alike(other, block); });
    if (known != decoder->blocks.end()) {
      known->facts.layers.push_back(layer);
      return;
    }
    block.facts.layers.push_back(layer);
    if (feed_forward != nullptr) block.feed_forward_fields = fields_that_chose(*feed_forward);
    decoder->blocks.push_back(std::move(block));
  }

  // The row that the config has chosen; null where none fits.
  const FeedForwardRow* add_feed_forward(DecodedBlock* block) {
    const FeedForwardRow* const row = choose(family_.feed_forwards, "feed-forward layer");
    if (row == nullptr) return row;
    block->facts.feed_forward = row->kind;
    block->halves += row->kind != FeedForwardKind::kNone ? 1 : 0;
    if (row->kind == FeedForwardKind::kExperts) {
      block->facts.experts = experts(row->experts);
      block->experts_field = values_.value(row->experts.count).field;
    }
    for (const DecodedLinear& linear : linears(row->linears)) block->linears.push_back(linear);
    return row;
  }

  // With their values, the fields in the conditions of the rows up to the one that was chosen.
  std::string fields_that_chose(const FeedForwardRow& chosen) {
    std::vector<Expression> asked;
    for (const FeedForwardRow& row : family_.feed_forwards) {
      asked.push_back(row.when);
      if (&row == &chosen) break;
    }
    return values_.fields_of(asked);
  }

  std::vector<DecodedLinear> linears(const LinearRows& rows) {
    std::vector<DecodedLinear> list;
    for (const LinearRow& row : rows) {
      if (!values_.flag(row.when)) continue;
      DecodedLinear linear;
      linear.row = &row;
      linear.n = values_.size(row.n, kMostRows);
      linear.k = values_.size(row.k, kMostRows);
      linear.field = values_.value(row.n).field;
      linear.k_field = values_.value(row.k).field;
      linear.count = values_.size(row.count, kMostExperts);
      linear.bias = values_.flag(row.bias);
      linear.fused_parts = static_cast<int>(std::count_if(
          rows.begin(), rows.end(), [&](const LinearRow& other) { return fuses(row, other); }));
      linear.by_kv_heads = row.order == RowOrder::kByKvHeads && values_.flag(row.by_kv_heads);
      list.push_back(linear);
    }
    return list;
  }

  ModelAttention attention(const AttentionRow& row) {
    ModelAttention facts;
    facts.heads = values_.size(row.heads, kMostHeads);
    facts.kv_heads = values_.size(row.kv_heads, kMostHeads);
    if (config_.findings().empty() && facts.heads % facts.kv_heads != 0) {
      values_.add(
          "out_of_range",
          {values_.value(row.kv_heads).field, "does not divide num_attention_heads",
           std::to_string(facts.kv_heads), "a divisor of " + std::to_string(facts.heads), ""});
    }
    facts.head_dim = values_.size(row.head_dim, kMostHidden);
    facts.value_dim = values_.size(row.value_dim, kMostHidden);
    facts.scale_dim = values_.number(row.scale_dim);
    facts.softcap = values_.number(row.softcap);
    facts.window = values_.count(row.window, kLongest);
    facts.chunk = values_.count(row.chunk, kLongest);
    facts.sinks = values_.flag(row.sinks);
    facts.alibi = values_.flag(row.alibi);
    facts.alibi_power = values_.number(row.alibi_power);
    facts.alibi_factor = values_.number(row.alibi_factor);
    facts.gate = values_.flag(row.gate);
    facts.qk_norm = values_.flag(row.qk_norm_when) ? row.qk_norm : QkNorm::kNone;
    facts.rope = rope_of(row.rope, facts.head_dim, values_);
    facts.q_rank = values_.count(row.q_rank, kMostHidden);
    facts.kv_rank = values_.count(row.kv_rank, kMostHidden);
    facts.rope_dim = values_.count(row.rope_dim, kMostHidden);
    facts.index_heads = values_.count(row.index_heads, kMostHeads);
    facts.index_tokens = values_.count(row.index_tokens, kLongest);
    return facts;
  }

  ModelExperts experts(const ExpertsRow& row) {
    ModelExperts facts;
    facts.count = values_.size(row.count, kMostExperts);
    facts.per_token = values_.size(row.per_token, kMostExperts);
    if (config_.findings().empty() && facts.per_token > facts.count) {
      const std::string count = values_.value(row.count).field;
      values_.add("out_of_range",
                  {values_.value(row.per_token).field,
                   "is more than there are experts" + (count.empty() ? "" : " (" + count + ")"),
                   std::to_string(facts.per_token), "1 to " + std::to_string(facts.count), ""});
    }
    facts.inner = values_.size(row.inner, kMostRows);
    facts.latent = values_.count(row.latent, kMostHidden);
    facts.shared = values_.count(row.shared, kMostExperts);
    facts.shared_gate = values_.flag(row.shared_gate);
    facts.scoring = values_.text(row.scoring);
    facts.groups = values_.size(row.groups, kMostExperts);
    facts.groups_per_token = values_.size(row.groups_per_token, kMostExperts);
    facts.normalised = values_.flag(row.normalised);
    facts.scale = values_.number(row.scale);
    facts.bias = values_.flag(row.bias);
    facts.expert_scales = values_.flag(row.expert_scales);
    facts.hashed = values_.flag(row.hashed);
    facts.routed = values_.flag(row.routed);
    facts.plain_gate = values_.flag(row.plain_gate.empty() ? family_.plain_gate : row.plain_gate);
    facts.clamp_limit = values_.number(row.clamp_limit);
    facts.clamp_factor = values_.number(row.clamp_factor);
    facts.gate_limit = values_.number(row.gate_limit);
    facts.weighs_input = values_.flag(row.weighs_input);
    facts.plain_shared = values_.flag(row.plain_shared);
    ignored_routing_ = ignored_routing(family_, config_, facts);
    facts.routed = facts.routed && ignored_routing_.empty();
    return facts;
  }

  const FamilyRow& family_;
  const ConfigReader& config_;
  ConfigValues values_;
  DecodedParts parts_;
  std::vector<std::string> ignored_routing_;
};

std::string joined(std::string_view path, std::string_view name) {
  if (path.empty()) return std::string(name);
  return std::string(path) + "." + std::string(name);
}

// Which of the wrapper's names the checkpoint has, as the modules show that its quantisation names.
std::size_t place_in(const Wrapper& wrapper, std::string_view layers,
                     const ConfigDocuments& documents) {
  for (std::size_t i = 0; i < wrapper.bodies.size(); ++i) {
    if (documents.mentions(joined(wrapper.bodies[i], layers) + ".")) return i;
  }
  for (std::size_t i = 0; i < wrapper.heads.size(); ++i) {
    if (documents.mentions(std::string(wrapper.heads[i]) + '"')) return i;
  }
  return 0;
}

}  // namespace

std::vector<std::string> Decoder::notes() const {
  std::vector<std::string> notes;
  for (const DecodedRemark& remark : remarks) {
    const bool unserved = remark.consequence == Consequence::kNoAttention;
    notes.push_back((unserved ? "attention has no kernel: " : "") + remark.text);
  }
  if (!ignored_routing.empty()) notes.push_back(routing_note());
  return notes;
}

std::string Decoder::routing_note() const {
  return fmt::format(
      "routing: the config says that {}, of which {} is not known: kernels take the ids and "
      "weights "
      "that the engine chooses",
      ignored_routing, family->name);
}

Role Decoder::role_of(std::string_view path) const {
  for (const DecodedBlock& block : blocks) {
    for (const DecodedLinear& linear : block.linears) {
      if (linear.row->path == path) return linear.row->role;
    }
  }
  return Role::kOther;
}

std::vector<std::string> layer_lists(const FamilyRow& family, const Wrapper* wrapper) {
  std::vector<std::string> lists = {joined(family.body, family.layers)};
  if (wrapper == nullptr) return lists;
  for (const std::string_view body : wrapper->bodies) lists.push_back(joined(body, family.layers));
  return lists;
}

bool fuses(const LinearRow& a, const LinearRow& b) {
  if (a.path == b.path) return true;
  const auto parent = [](std::string_view path) {
    return path.substr(0, std::min(path.rfind('.'), path.size()));
  };
  return !a.fused.empty() && a.fused == b.fused && parent(a.path) == parent(b.path);
}

std::string leaf_of(std::string_view path) { return std::string(path.substr(path.rfind('.') + 1)); }

Decoder decode(const ConfigDocuments& documents, Findings& findings, DecodedParts parts) {
  const ConfigReader root = documents.config();
  const ConfigReader config = documents.language();
  const std::string type = documents.model_type();
  const FamilyRow* const family = find_family(type);
  if (family == nullptr) refuse_model_type(type, config);
  Decoder decoder = Interpreter(*family, config, root, parts).decode();
  findings.throw_if_any();

  decoder.body = std::string(family->body);
  decoder.head = std::string(family->head);
  const Wrapper* const wrapper = find_wrapper(root.text("model_type"));
  const bool wrapped = root.text("model_type") != type || documents.is_wrapped();
  if (wrapper != nullptr && wrapped) {
    const std::size_t place = place_in(*wrapper, family->layers, documents);
    decoder.body = std::string(wrapper->bodies[place]);
    decoder.head = std::string(wrapper->heads[place]);
  }
  decoder.layers_path = joined(decoder.body, family->layers);
  for (DecodedOther& tower : towers_of(root)) decoder.others.push_back(std::move(tower));
  if (const Node* const thinker = root.object("thinker_config")) {
    const ConfigReader inner(*thinker, root.pointer("thinker_config"), findings);
    for (DecodedOther& tower : towers_of(inner)) decoder.others.push_back(std::move(tower));
  }
  return decoder;
}

}  // namespace heddle
