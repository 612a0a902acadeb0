// Model: from a Hugging Face config.json to the specs of every kernel that the model needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/export.h"
#include "heddle/spec.h"

namespace heddle {

// A spec that the model needs a kernel of, named as engines fuse it: "qkv_proj", "down_proj" ...
struct ModelKernel {
  Spec spec;
  int layers = 0;      // how many layers of the model use it
  std::string covers;  // the checkpoint's own names: "q_proj + k_proj + v_proj"
  // Of experts, where the config says all of how the model chooses them: the same for launches that
  // take the router's logits, in FP32, in place of ids and weights.
  std::optional<Spec> routed{};
};

// A linear operation that no kernel of Heddle can be made for.
struct ModelUnserved {
  std::string name;    // as in the checkpoint: "down_proj"
  std::string reason;  // and what would be needed
  int layers = 0;
};

// One module of a layer: its path below the decoder layer, "self_attn.q_proj", or from the root,
// "lm_head". A * stands for the number of an expert.
struct ModelPart {
  std::string path;
  std::int64_t n = 0;  // rows
};

// A layer with weights, of every decoder layer that has one alike. Modules that one kernel takes
// together are one layer.
struct ModelLayer {
  enum class Kind {
    kLinear,
    kExperts,      // `matrices` linear layers, of which a token takes a few; where it has a
                   // kernel, one of the two products of a moe
    kConvolution,  // n channels, k taps
    kScan,         // the recurrence of a mixer, which has no matrix
    kTower,        // an encoder of images or sound, or layers that predict further tokens
    kAttention,    // an operation on the key-value cache
  };

  std::string name;  // as engines fuse it: "qkv_proj"
  Kind kind = Kind::kLinear;
  std::vector<ModelPart> parts;  // in the order of their rows
  std::int64_t n = 0;            // rows of all parts; n and k are 0 where there is no matrix
  std::int64_t k = 0;
  std::int64_t matrices = 1;  // experts of a layer
  bool is_down = false;       // of experts with a kernel: MoeGemms::down, not gate_up
  bool bias = false;
  std::vector<int> layers;  // the decoder layers that have it, ascending; empty: in none of them
  int copies = 1;           // without `layers`: layers of a tower
  std::string weights;      // "uint4, groups of 128", "16 bits"
  int kernel = -1;          // index into Model::kernels, -1 where there is none
  std::string reason;       // why there is none
  // Without a kernel: bytes of one in the checkpoint; 0: not known, or shared; SIZE_MAX: too many.
  std::size_t stored_bytes = 0;

  // Modules of the checkpoint that this stands for; the experts of one layer count as one.
  std::int64_t count() const {
    const std::size_t each = parts.empty() ? 1 : parts.size();
    return static_cast<std::int64_t>(
        each * (layers.empty() ? static_cast<std::size_t>(copies) : layers.size()));
  }
};

// The last two of each: times the weight, times 1 + weight.
enum class NormKind { kNone, kRms, kRmsPlusOne, kLayer, kLayerPlusOne };
// kBefore: of the input of attention and feed-forward; kAfter: of their output; kAround: of both;
// kParallel: both take the input of the decoder layer.
enum class NormPlace { kBefore, kAfter, kAround, kParallel };
struct ModelBlock;  // the library's own; model_facts() has what it says

// The model as a whole; empty where the model type is not known.
struct ModelFacts {
  // Decoder layers that are alike, with their attention and their experts. Null: not known.
  std::shared_ptr<const std::vector<ModelBlock>> blocks;
  std::int64_t hidden = 0;  // the model's width
  std::int64_t vocabulary = 0;
  NormKind norm = NormKind::kNone;
  NormPlace norm_place = NormPlace::kBefore;
  // The default of the model's Transformers class where the config has none; 0 if `norm` is kNone.
  double norm_epsilon = 0;
  std::string activation;        // of the feed-forward layers: "silu", "gelu_pytorch_tanh" ...
  bool tied_embeddings = false;  // lm_head has the weights of the embeddings
  double logit_softcap = 0;      // 0: none
  // What else the model multiplies by: {"embedding", 12}, {"residual", 0.22} ...
  std::vector<std::pair<std::string, double>> multipliers;
  // What the config asks for beyond all these members, for the engine to do; `notes` has it, too.
  std::vector<std::string> remarks;
};

struct Model : ModelFacts {
  std::string model_type;    // "llama", "qwen2", "bloom" ...
  std::string quant_method;  // "awq", "gptq" ...
  std::vector<ModelKernel> kernels;
  // What stands between the linear layers of a decoder with RMSNorms, as row_transform specs:
  // "norm" of X alone, "add_norm" of X + residual, "activation" where a feed-forward layer's first
  // matrix does not compute it, "quantize" of X. They write the 8 bits that the next layer takes.
  // `layers` counts launches of a step here, the final norm among them.
  std::vector<ModelKernel> rows;
  std::vector<ModelUnserved> unserved;
  // Every layer of the model with weights, served or not; empty for specs.
  std::vector<ModelLayer> layers;
  std::vector<std::string> notes;  // what was left out and why ("lm_head is not quantised")
  // What the config cannot tell and was taken to be so; the checkpoint's tensors would tell.
  std::vector<std::string> assumptions;
};

// How a model's layers become kernels: what is planned with them is packed with the same.
struct ModelOptions {
  // The engine rotates activations where the config asks for it, which Heddle does not do and
  // refuses otherwise.
  bool engine_rotates = false;
  // Layers of a gate_proj and an up_proj are for kernels with epilogue.gated and the config's
  // activation: Error(kUnsupported, "model.activation") for one that has none. Layers of which the
  // config does not say so stay as they are, with a note.
  bool gated = false;
  // Dense linear layers that are not quantised, lm_head and routers among them, are served, too, as
  // the 16 bits that they are. A tied head is a layer of its own. Of model types that
  // docs/models.md lists.
  bool dense = false;
  // 8 or 4: lm_head is quantised to so many bits, as docs/checkpoints.md says, and is refused where
  // it is quantised already: Error(kUnsupported, "model.lm_head"). 0: as it is, or not at all.
  int lm_head_bits = 0;
  // 16: all activations have 16 bits. 0: what the config says, where a kernel does it; notes tell.
  int activation_bits = 0;
  // Target::arch() of the GPU, which decides where activations have 8 bits; 0: not known, any.
  int arch = 0;
};

// The texts of a model's config.json and of files beside it; empty: there is no such file.
struct ModelConfigTexts : ModelOptions {
  std::string_view config;
  std::string_view hf_quant_config;  // Model Optimizer's hf_quant_config.json
  std::string_view quantize_config;  // AutoGPTQ's quantize_config.json, AutoAWQ's quant_config.json
  bool plain_too = false;  // a model that is not quantised is described instead of refused
};

// A family of models that model_from_config() knows.
struct ModelFamily {
  std::string name;                      // "Llama 2 and 3"
  std::vector<std::string> model_types;  // of the language model and of wrappers with other inputs
  std::vector<std::string> served;       // what kernels are made for: "dense linear layers" ...
  std::vector<std::string> listed;       // what is only listed: "experts", "latent attention" ...
};

// In the order of docs/models.md.
HEDDLE_EXPORT std::vector<ModelFamily> known_families();

// Throws Error(kSpec) for texts that are no such configs, Error(kUnsupported) for a model or
// quantisation without kernels. What the configs cannot tell is taken to be as quantisers usually
// write it, and is in `assumptions`.
HEDDLE_EXPORT Model model_from_config(const ModelConfigTexts& texts);
// The model that config.json alone describes.
HEDDLE_EXPORT Model model_from_config(std::string_view json);

// The model's shape, kinds of norms, attention and experts as JSON: the member "model" of `heddle
// build --json`. The type alone where the model type is not known.
HEDDLE_EXPORT std::string model_facts(const Model& model);
// "linear", "experts", "convolution", "recurrence", "tower", "cache".
HEDDLE_EXPORT std::string_view to_string(ModelLayer::Kind kind) noexcept;

// A spec's kv block, JSON, from the words in which users name a cache: "int8:head",
// "int4:group:64", "int8:head,int4" for K, then V. Spec::parse() judges the words. Throws
// Error(kUsage, "kv.words") for what is not one to three words, or two times as many.
HEDDLE_EXPORT std::string kv_block_from_words(std::string_view words);

// kv_append and decode_attention for each kind of attention of the model's layers. `kv`: JSON, a
// spec's kv block; the config need not be quantised. Throws as model_from_config() and
// Spec::parse() do, and Error(kSpec, "model.impossible_cache") for a block that no GPU's kernels
// take.
HEDDLE_EXPORT Model cache_model_from_config(std::string_view json, std::string_view kv);

}  // namespace heddle
