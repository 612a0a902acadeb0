#include "tools/gpu_harness/step/decode_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "generator/model/model_block.h"
#include "heddle/error.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCategory::kUnsupported, "step.model", why);
}

// Kernels of a decoder layer, in the order of a step.
struct LayerKernels {
  std::vector<const Spec*> linears;
  const Spec* append = nullptr;
  const Spec* attention = nullptr;
  const ModelKernel* experts = nullptr;  // behind their router, the last of `linears`
};

const char* name_of(MixerKind kind) {
  switch (kind) {
    case MixerKind::kNone:
      return "no attention";
    case MixerKind::kAttention:
      return "attention";
    case MixerKind::kCrossAttention:
      return "cross attention";
    case MixerKind::kLatentAttention:
      return "latent attention";
    case MixerKind::kLinearAttention:
      return "linear attention";
    case MixerKind::kMamba:
      return "a Mamba mixer";
  }
  return "";
}

// What of the decoder layers themselves a step does not have.
void check_block(const ModelBlock& block) {
  const int layer = block.layers.front();
  if (block.mixer != MixerKind::kAttention) {
    refuse(fmt::format("decoder layer {} has {}; a step has attention only", layer,
                       name_of(block.mixer)));
  }
  if (block.feed_forward == FeedForwardKind::kNone) {
    refuse(fmt::format("decoder layer {} has no feed-forward layer", layer));
  }
  if (block.feed_forward == FeedForwardKind::kExperts && block.experts.shared > 0) {
    refuse(fmt::format("decoder layer {} has shared experts, which a step does not have", layer));
  }
  if (block.attention.gate) {
    refuse(
        fmt::format("decoder layer {} multiplies attention's output by a gate, which no kernel "
                    "does",
                    layer));
  }
}

class StepBuilder {
 public:
  StepBuilder(const Model& model, int layers) : model_(model) {
    if (blocks_of(model).empty()) {
      refuse("the input does not describe decoder layers: a step is of a model's config.json");
    }
    for (const ModelBlock& block : blocks_of(model)) {
      step_.model_layers = std::max(step_.model_layers, block.layers.back() + 1);
    }
    step_.layers = layers == 0 ? step_.model_layers : layers;
    if (step_.layers < 1 || step_.layers > step_.model_layers) {
      throw Error(ErrorCategory::kUsage, "step.layers",
                  fmt::format("{} decoder layers are asked for, and the model has {}", layers,
                              step_.model_layers));
    }
    if (model.norm != NormKind::kRms && model.norm != NormKind::kRmsPlusOne) {
      refuse("the model's norms are no RMSNorms, and a step knows no others");
    }
    if (model.norm_place != NormPlace::kBefore && model.norm_place != NormPlace::kAround) {
      refuse(
          fmt::format("the model's norms are {}; a step knows those before attention and "
                      "feed-forward, and those before and after",
                      model.norm_place == NormPlace::kAfter ? "after its halves only"
                                                            : "of halves in parallel"));
    }
  }

  DecodeStep build() {
    for (layer_ = 0; layer_ < step_.layers; ++layer_) add_layer();
    add(rows("add_norm", model_.hidden));
    add_head();
    add_notes();
    return std::move(step_);
  }

 private:
  void add(const Spec& spec, bool aside = false);
  void add_layer();
  void add_dense(const LayerKernels& kernels);
  void add_experts(const LayerKernels& kernels);
  void add_head();
  void add_notes();
  const ModelBlock& block() const;
  LayerKernels kernels_of_layer() const;
  void check(const LayerKernels& kernels) const;
  const Spec& rows(std::string_view name, std::int64_t columns) const;

  const Model& model_;
  int layer_ = 0;
  bool has_experts_ = false;
  bool has_unknown_choices_ = false;
  DecodeStep step_;
};

void StepBuilder::add(const Spec& spec, bool aside) {
  const std::string text = spec.canonical_json();
  const auto same = [&](const Spec& known) {
    return known.name() == spec.name() && known.canonical_json() == text;
  };
  auto place = std::find_if(step_.kernels.begin(), step_.kernels.end(), same);
  if (place == step_.kernels.end()) place = step_.kernels.insert(place, spec);
  step_.launches.push_back(
      {static_cast<std::size_t>(place - step_.kernels.begin()), layer_, aside});
}

const ModelBlock& StepBuilder::block() const {
  for (const ModelBlock& block : blocks_of(model_)) {
    if (std::binary_search(block.layers.begin(), block.layers.end(), layer_)) return block;
  }
  refuse(fmt::format("decoder layer {} is not described", layer_));
}

void StepBuilder::add_layer() {
  check_block(block());
  const LayerKernels kernels = kernels_of_layer();
  check(kernels);
  const bool around = model_.norm_place == NormPlace::kAround;
  add(rows(layer_ == 0 ? "norm" : "add_norm", model_.hidden));
  add(*kernels.linears[0]);
  add(*kernels.append);
  add(*kernels.attention);
  add(*kernels.linears[1]);
  if (around) add(rows("norm", model_.hidden));
  add(rows("add_norm", model_.hidden));
  kernels.experts != nullptr ? add_experts(kernels) : add_dense(kernels);
  if (around) add(rows("norm", model_.hidden));
}

void StepBuilder::add_dense(const LayerKernels& kernels) {
  add(*kernels.linears[2]);
  const std::int64_t inner = kernels.linears[3]->gemm().shape.k;
  if (kernels.linears[2]->gemm().epilogue.activation == Activation::kNone) {
    add(rows("activation", inner));
  }
  add(*kernels.linears[3]);
}

// Where the routing is known a router's logits have the type that experts take, else its own.
void StepBuilder::add_experts(const LayerKernels& kernels) {
  const std::optional<Spec>& routed = kernels.experts->routed;
  GemmSpec router = kernels.linears[2]->gemm();
  if (routed) router.output = routed->moe().router.logits;
  add(Spec::from_gemm(router, kernels.linears[2]->name()), true);
  add(routed ? *routed : kernels.experts->spec);
  has_experts_ = true;
  has_unknown_choices_ = has_unknown_choices_ || !routed;
}

LayerKernels StepBuilder::kernels_of_layer() const {
  LayerKernels kernels;
  for (const ModelLayer& layer : model_.layers) {
    if (!std::binary_search(layer.layers.begin(), layer.layers.end(), layer_)) continue;
    if (layer.kernel < 0) {
      refuse(
          fmt::format("decoder layer {}: {} has no kernel: {}", layer_, layer.name, layer.reason));
    }
    const ModelKernel& kernel = model_.kernels[static_cast<std::size_t>(layer.kernel)];
    const Spec& spec = kernel.spec;
    if (spec.get_if<MoeSpec>() != nullptr) kernels.experts = &kernel;
    if (spec.get_if<GemmSpec>() != nullptr) kernels.linears.push_back(&spec);
    if (spec.get_if<KvAppendSpec>() != nullptr) kernels.append = &spec;
    if (spec.get_if<DecodeAttentionSpec>() != nullptr) kernels.attention = &spec;
  }
  if (kernels.append == nullptr || kernels.attention == nullptr) {
    refuse(fmt::format("decoder layer {} has no kernels for its cache", layer_));
  }
  if (block().attention.qk_norm != QkNorm::kNone &&
      !kernels.append->kv_append().norm.epsilon.has_value()) {
    refuse(
        fmt::format("decoder layer {} normalises queries and keys in a way that kv_append does "
                    "not do",
                    layer_));
  }
  return kernels;
}

// The linear layers are known by their shapes, since the names of modules differ.
void StepBuilder::check(const LayerKernels& kernels) const {
  const AttentionShape& heads = kernels.attention->decode_attention().shape;
  const std::int64_t attended = std::int64_t{heads.heads} * heads.head_dim;
  const std::int64_t cached = std::int64_t{2} * heads.kv_heads * heads.head_dim;
  const auto is = [&](std::size_t i, std::int64_t n, std::int64_t k) {
    const GemmShape& shape = kernels.linears[i]->gemm().shape;
    return shape.n == n && shape.k == k;
  };
  const bool has_attention = kernels.linears.size() > 2 &&
                             is(0, attended + cached, model_.hidden) &&
                             is(1, model_.hidden, attended);
  if (has_attention && kernels.experts != nullptr && kernels.linears.size() == 3) {
    const MoeShape& experts = kernels.experts->spec.moe().shape;
    if (is(2, experts.experts, model_.hidden) && experts.hidden == model_.hidden) return;
  }
  if (has_attention && kernels.experts == nullptr && kernels.linears.size() == 4) {
    const std::int64_t inner = kernels.linears[3]->gemm().shape.k;
    if ((is(2, 2 * inner, model_.hidden) || is(2, inner, model_.hidden)) &&
        is(3, model_.hidden, inner)) {
      return;
    }
  }
  std::string names;
  for (const Spec* spec : kernels.linears) names += (names.empty() ? "" : ", ") + spec->name();
  refuse(
      fmt::format("decoder layer {} has the linear layers {}; a step knows those of queries, "
                  "keys and values together, of attention's output, of gate and up together or "
                  "up alone, and down, or of a router and its experts",
                  layer_, names));
}

const Spec& StepBuilder::rows(std::string_view name, std::int64_t columns) const {
  for (const ModelKernel& kernel : model_.rows) {
    if (kernel.spec.name() == name && kernel.spec.row_transform().shape.columns == columns) {
      return kernel.spec;
    }
  }
  refuse(
      fmt::format("the model has no {} kernel of {} columns: there is one for sums that the "
                  "model does not multiply, and for activation(gate) * up or activation(up)",
                  name, columns));
}

void StepBuilder::add_head() {
  for (const ModelLayer& layer : model_.layers) {
    if (layer.kernel < 0 || layer.kind != ModelLayer::Kind::kLinear || !layer.layers.empty() ||
        layer.n != model_.vocabulary || layer.k != model_.hidden) {
      continue;
    }
    return add(model_.kernels[static_cast<std::size_t>(layer.kernel)].spec);
  }
  refuse("the model's head (lm_head) has no kernel");
}

void StepBuilder::add_notes() {
  step_.notes.emplace_back(
      "the lookup of embeddings is a copy of as many bytes; choosing the next token is no part of "
      "the step");
  if (step_.layers != step_.model_layers) {
    step_.notes.push_back(fmt::format("{} of {} decoder layers", step_.layers, step_.model_layers));
  }
  if (has_experts_) {
    step_.notes.emplace_back(
        "each layer's tokens choose experts of a uniform draw, not of the router's logits; bytes "
        "of "
        "experts are those of as many as such draws hit on average");
  }
  if (has_unknown_choices_) {
    step_.notes.emplace_back(
        "the config does not say all of how experts are chosen: their kernels are given ids and "
        "weights, and the choice is no part of the step");
  }
  if (model_.logit_softcap != 0) {
    step_.notes.emplace_back("the soft cap of the logits is no part of the step");
  }
  for (const auto& [name, factor] : model_.multipliers) {
    if (factor == 1) continue;
    step_.notes.push_back(
        fmt::format("the multiplier {} ({}) is no part of the step", name, factor));
  }
}

}  // namespace

std::size_t DecodeStep::count(std::size_t kernel) const {
  return static_cast<std::size_t>(
      std::count_if(launches.begin(), launches.end(),
                    [&](const StepLaunch& launch) { return launch.kernel == kernel; }));
}

DecodeStep decode_step(const Model& model, int layers) {
  return StepBuilder(model, layers).build();
}

}  // namespace heddle
