#include "heddle/model_size.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/kv/sequence_limits.h"
#include "generator/model/model_block.h"
#include "generator/operations/launch_size.h"
#include "generator/spec/error_place.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/kv_cache.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr std::int64_t kPlainBytes = 2;  // activations, norms and embeddings have 16 bits
constexpr std::int64_t kFloatBytes = 4;
// The module that makes embeddings for every decoder layer of a token.
constexpr std::string_view kPerLayerProjection = "per_layer_model_projection";

void check_load(const ModelLoad& load) {
  if (load.sequences >= 1 && load.sequences <= kMostSequences && load.context >= 1 &&
      load.context <= kMostSequenceTokens) {
    return;
  }
  throw Error(ErrorCategory::kUsage, "model.load",
              std::to_string(load.sequences) + " sequences of " + std::to_string(load.context) +
                  " tokens; allowed: 1 to " + std::to_string(kMostSequences) +
                  " sequences of 1 to 2^30 tokens");
}

constexpr std::size_t kMostBytes = (std::size_t{1} << 63) - 1;  // as users' signed numbers hold

[[noreturn]] void refuse_bytes() {
  throw Error(ErrorCategory::kUsage, "model.load",
              "the model takes more bytes than 2^63 with this load; allowed: a smaller model, or "
              "fewer and shorter sequences");
}

std::size_t plus(std::size_t a, std::size_t b) {
  std::size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum > kMostBytes) refuse_bytes();
  return sum;
}

std::size_t times(std::int64_t count, std::size_t each) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), each, &product)) refuse_bytes();
  return plus(product, 0);
}

std::int64_t instances(const ModelLayer& layer) {
  return layer.layers.empty() ? layer.copies : static_cast<std::int64_t>(layer.layers.size());
}

// Packed weights and the vectors that GemmArgs takes with them.
std::size_t gemm_bytes(const GemmSpec& gemm, std::int64_t matrices) {
  const bool is_static = gemm.activation_scale.granularity == RowGranularity::kTensor;
  const std::int64_t beside = (gemm.epilogue.bias ? kPlainBytes * gemm.shape.n * matrices : 0) +
                              (gemm.act_order ? kFloatBytes * gemm.shape.k * matrices : 0) +
                              (gemm.pre_scale ? kPlainBytes * gemm.shape.k : 0) +
                              (is_static ? kFloatBytes : 0);
  return plus(times(matrices, weight_layout(gemm).total_bytes), static_cast<std::size_t>(beside));
}

// Elements of all weights of norms.
std::int64_t norm_elements(const Model& model) {
  const auto of_norm = [&](std::int64_t width) {
    const bool has_bias = model.norm == NormKind::kLayer || model.norm == NormKind::kLayerPlusOne;
    return has_bias ? 2 * width : width;
  };
  std::int64_t elements = 0;
  for (const ModelBlock& block : blocks_of(model)) {
    const int halves = (block.mixer != MixerKind::kNone ? 1 : 0) +
                       (block.feed_forward != FeedForwardKind::kNone ? 1 : 0);
    const int norms = model.norm_place == NormPlace::kParallel ? 1
                      : model.norm_place == NormPlace::kAround ? 2 * halves
                                                               : halves;
    const ModelAttention& attention = block.attention;
    const std::int64_t all_heads = (attention.heads + attention.kv_heads) * attention.head_dim;
    const std::int64_t heads =
        attention.qk_norm == QkNorm::kHead ? 2 * attention.head_dim
        : attention.qk_norm == QkNorm::kEachHead || attention.qk_norm == QkNorm::kAll ? all_heads
                                                                                      : 0;
    // Norms of what the projections of latent attention compress.
    const std::int64_t ranks =
        block.mixer == MixerKind::kLatentAttention ? attention.q_rank + attention.kv_rank : 0;
    elements += static_cast<std::int64_t>(block.layers.size()) *
                (norms * of_norm(model.hidden) + heads + ranks);
  }
  return model.norm == NormKind::kNone ? 0 : elements + of_norm(model.hidden);
}

class SizeBuilder {
 public:
  SizeBuilder(const Target& target, const ModelLoad& load, const TunedTables& tables)
      : target_(target), load_(load), tables_(tables) {}

  void add(const Model& model) {
    for (const ModelLayer& layer : model.layers) {
      if (layer.kind != ModelLayer::Kind::kAttention) add_weights(model, layer);
    }
    if (model.hidden > 0) add_rest(model);
    std::vector<bool> served;
    for (const ModelKernel& kernel : model.kernels) served.push_back(add_workspace(kernel.spec));
    for (const ModelKernel& kernel : model.rows) add_workspace(kernel.spec);
    add_caches(model, served);
    for (const std::string& what : model.assumptions) assume(what);
  }

  ModelSize finish() {
    for (const ModelWeightSize& weights : size_.weights) {
      size_.weight_bytes = plus(size_.weight_bytes, weights.bytes);
    }
    for (const ModelCacheSize& cache : size_.caches) {
      size_.cache_bytes = plus(size_.cache_bytes, cache.bytes);
    }
    for (const ModelWorkspaceSize& workspace : size_.workspaces) {
      size_.workspace_bytes = std::max(size_.workspace_bytes, workspace.bytes);
    }
    size_.bytes = plus(plus(size_.weight_bytes, size_.cache_bytes), size_.workspace_bytes);
    if (most_.bytes > size_.workspace_bytes) {
      assume("workspaces are for steps of " + std::to_string(load_.sequences) +
             " tokens; launches of up to " + std::to_string(most_.tokens) +
             ", such as prompts, need up to " + std::to_string(most_.bytes) + " bytes (" +
             most_.name + ")");
    }
    return std::move(size_);
  }

 private:
  void add_weights(const Model& model, const ModelLayer& layer);
  void add_rest(const Model& model);
  // `served`: of the model's kernels.
  void add_caches(const Model& model, const std::vector<bool>& served);
  void add_cache(const Spec& spec, std::int64_t window, std::int64_t count);
  // Whether the target has a kernel.
  bool add_workspace(const Spec& spec);
  void add_uncounted(const std::string& name, const std::string& reason);
  void assume(const std::string& what);
  void add(ModelWeightSize weights) {
    weights.bytes = times(weights.count, weights.each);
    size_.weights.push_back(std::move(weights));
  }
  std::size_t cache_bytes(const Spec& spec, std::int64_t pages, std::int64_t page_tokens) const;

  const Target& target_;
  const ModelLoad& load_;
  const TunedTables& tables_;
  ModelSize size_;
  // The largest workspace of any launch.
  struct {
    std::string name;
    std::int64_t tokens = 0;
    std::size_t bytes = 0;
  } most_;
};

void SizeBuilder::add_uncounted(const std::string& name, const std::string& reason) {
  const bool known = std::any_of(
      size_.uncounted.begin(), size_.uncounted.end(),
      [&](const ModelUncounted& other) { return other.name == name && other.reason == reason; });
  if (!known) size_.uncounted.push_back({name, reason});
}

void SizeBuilder::assume(const std::string& what) {
  auto& all = size_.assumptions;
  if (std::find(all.begin(), all.end(), what) == all.end()) all.push_back(what);
}

void SizeBuilder::add_weights(const Model& model, const ModelLayer& layer) {
  const std::string name = layer.matrices == 1
                               ? layer.name
                               : layer.name + " of " + std::to_string(layer.matrices) + " experts";
  if (layer.kernel >= 0) {
    const Spec& spec = model.kernels[static_cast<std::size_t>(layer.kernel)].spec;
    const auto* const moe = spec.get_if<MoeSpec>();
    const GemmSpec gemm = moe == nullptr  ? spec.gemm()
                          : layer.is_down ? moe_gemms(*moe).down
                                          : moe_gemms(*moe).gate_up;
    return add({name, layer.weights, true, instances(layer), gemm_bytes(gemm, layer.matrices), 0});
  }
  const bool shares = model.tied_embeddings && layer.layers.empty() &&
                      layer.n == model.vocabulary && layer.k == model.hidden;
  if (layer.stored_bytes == 0 && !shares) {
    return add_uncounted(name, "what its weights take is not known" +
                                   (layer.reason.empty() ? "" : ": " + layer.reason));
  }
  add({name, shares && layer.stored_bytes == 0 ? "those of the embeddings" : layer.weights, false,
       instances(layer), layer.stored_bytes, 0});
}

void SizeBuilder::add_rest(const Model& model) {
  const auto plain = [](std::int64_t elements) {
    return static_cast<std::size_t>(kPlainBytes * elements);
  };
  if (model.vocabulary > 0) {
    add({"embeddings", "16 bits", false, 1, plain(model.vocabulary * model.hidden), 0});
    assume("the table of tokens' embeddings has the model's width and vocabulary, in 16 bits");
  } else {
    add_uncounted("embeddings", "the config does not say how many rows they have (vocab_size)");
  }
  for (const ModelLayer& layer : model.layers) {
    if (layer.name != kPerLayerProjection) continue;
    add_uncounted("per-layer embeddings",
                  std::to_string(layer.n) +
                      " values for each of vocab_size_per_layer_input tokens, in a type that the "
                      "config does not say; a folder with tensors tells");
  }
  if (blocks_of(model).empty()) return add_uncounted("norms", "the decoder is not known");
  add({"norms", "16 bits", false, 1, plain(norm_elements(model)), 0});
  const bool has_positions =
      std::any_of(blocks_of(model).begin(), blocks_of(model).end(), [](const ModelBlock& block) {
        return block.mixer == MixerKind::kAttention &&
               block.attention.rope.pairing == RopePairing::kNone && !block.attention.alibi;
      });
  if (has_positions) {
    add_uncounted("positions", "attention without rotations may have a table of them");
  }
}

std::size_t SizeBuilder::cache_bytes(const Spec& spec, std::int64_t pages,
                                     std::int64_t page_tokens) const {
  const KvShape shape = spec.kv_shape();
  const KvCacheLayout layout = kv_cache_layout(spec.kv(), shape.kv_heads, shape.head_dim);
  std::size_t bytes = 0;
  for (const KvTensorLayout* tensor : {&layout.k, &layout.v}) {
    bytes = plus(bytes, tensor->code_bytes(pages, page_tokens));
    bytes = plus(bytes, tensor->scale_bytes(pages, page_tokens));
    if (tensor->residual_row_bytes != 0) {
      bytes = plus(bytes, tensor->residual_bytes(load_.sequences));
    }
  }
  return bytes;
}

void SizeBuilder::add_cache(const Spec& spec, std::int64_t window, std::int64_t count) {
  const KvSpec& kv = spec.kv();
  const auto runs = [](std::int64_t tokens, std::int64_t run) { return (tokens + run - 1) / run; };
  const bool paged = kv.layout == KvLayout::kPaged;
  // A contiguous cache has whole blocks of tokens that share scales.
  const std::int64_t block = std::max(kv_block_tokens(kv.k), kv_block_tokens(kv.v));
  const std::int64_t page = paged ? kv.page_size : block * runs(load_.context, block);
  const std::int64_t pages = load_.sequences * (paged ? runs(load_.context, page) : 1);
  ModelCacheSize cache{spec.name(), count,  pages, page, cache_bytes(spec, pages, page),
                       0,           window, 0};
  cache.bytes = times(count, cache.each);
  cache.each_in_window = cache.each;
  if (window != 0 && paged) {
    // The window may begin and end within pages.
    const std::int64_t seen = load_.sequences * (runs(std::min(window, load_.context), page) + 1);
    cache.each_in_window = cache_bytes(spec, std::min(seen, pages), page);
  }
  size_.caches.push_back(std::move(cache));
}

void SizeBuilder::add_caches(const Model& model, const std::vector<bool>& served) {
  std::map<int, std::int64_t> windows;  // of decoder layers
  std::set<int> unserved;               // decoder layers
  for (const ModelLayer& layer : model.layers) {
    if (layer.kind != ModelLayer::Kind::kAttention || layer.kernel < 0) continue;
    const auto kernel = static_cast<std::size_t>(layer.kernel);
    if (!served[kernel]) unserved.insert(layer.layers.begin(), layer.layers.end());
    const Spec& spec = model.kernels[kernel].spec;
    const auto* attention = spec.get_if<DecodeAttentionSpec>();
    if (attention == nullptr) continue;
    check_attention_size(*attention, {load_.context, load_.sequences});
    for (const int index : layer.layers) windows[index] = attention->window;
  }
  for (const ModelLayer& layer : model.layers) {
    if (layer.kind != ModelLayer::Kind::kAttention) continue;
    if (layer.kernel < 0) {
      add_uncounted("the cache of " + layer.name, layer.reason);
      continue;
    }
    const Spec& spec = model.kernels[static_cast<std::size_t>(layer.kernel)].spec;
    if (spec.get_if<KvAppendSpec>() == nullptr) continue;
    std::map<std::int64_t, std::int64_t> counts;  // layers by their window
    for (const int index : layer.layers) {
      if (unserved.count(index) == 0) {
        ++counts[windows[index]];
      } else {
        add_uncounted("the cache of " + spec.name(), "no kernel on " + target_.name + " serves it");
      }
    }
    for (const auto& [window, count] : counts) add_cache(spec, window, count);
    if (!counts.empty() && counts.rbegin()->first != 0) {
      assume(spec.kv().layout == KvLayout::kPaged
                 ? "layers with a window hold all tokens, since one block table serves all layers; "
                   "with a table of their own they need only the pages of their window"
                 : "a contiguous cache holds all tokens, also of layers with a window");
    }
  }
  for (const ModelBlock& block : blocks_of(model)) {
    if (block.mixer != MixerKind::kLinearAttention && block.mixer != MixerKind::kMamba) continue;
    add_uncounted("the state of " + block.mixer_name, "Heddle has no cache for it");
  }
}

bool SizeBuilder::add_workspace(const Spec& spec) {
  const std::string name = spec.name().empty() ? std::string(to_string(spec.op())) : spec.name();
  try {
    const Plan plan = resolve(spec, target_, tables_);
    std::size_t bytes = 0;
    if (spec.has_m()) {
      const MRange range = spec.m_range();
      for (std::int64_t m = range.min; m <= std::min(range.max, load_.sequences); ++m) {
        bytes = std::max(bytes, plan.workspace_bytes(m));
      }
    } else {
      bytes = plan.max_workspace_bytes();
    }
    if (bytes != 0) size_.workspaces.push_back({name, bytes});
    const std::size_t most = plan.max_workspace_bytes();
    if (spec.has_m() && most > most_.bytes) most_ = {name, spec.m_range().max, most};
    return true;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::kUnsupported) throw;
    for (const std::string& reason : problem_lines(error, spec.name())) {
      add_uncounted("the workspace of " + name, "no kernel on " + target_.name + ": " + reason);
    }
    return false;
  }
}

}  // namespace

ModelSize model_size(const Model& model, const Model& cache, const Target& target,
                     const ModelLoad& load, const TunedTables& tables) {
  check_load(load);
  SizeBuilder size(target, load, tables);
  size.add(model);
  size.add(cache);
  return size.finish();
}

}  // namespace heddle
