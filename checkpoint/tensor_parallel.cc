#include "checkpoint/tensor_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/layer_error.h"
#include "checkpoint/selected_columns.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(const QuantizedRows& layer, const std::string& why) {
  refuse_layer(layer.name(), why);
}

enum class Split {
  kNone,
  kQueries,  // rows are heads of queries
  kKeys,     // rows are heads of keys or values
  kQkv,      // rows are heads of queries, then of keys, then of values
  kHalves,   // rows are two matrices of the same height
  kRows,     // rows are features, of which each rank has its run
  kHeads,    // columns are heads of queries
  kColumns,  // columns are features
};

// Modules of the same meaning have other names in other models.
struct Named {
  std::string_view leaf;
  Split split;
};
constexpr Named kNamed[] = {
    {"q_proj", Split::kQueries},
    {"k_proj", Split::kKeys},
    {"v_proj", Split::kKeys},
    {"qkv_proj", Split::kQkv},
    {"query_key_value", Split::kQkv},
    {"wqkv", Split::kQkv},
    {"W_pack", Split::kQkv},
    {"Wqkv", Split::kQkv},
    {"c_attn", Split::kQkv},
    {"gate_up_proj", Split::kHalves},
    {"gate_proj", Split::kRows},
    {"up_proj", Split::kRows},
    {"w1", Split::kRows},
    {"w3", Split::kRows},
    {"fc1", Split::kRows},
    {"c_fc", Split::kRows},
    {"dense_h_to_4h", Split::kRows},
    {"lm_head", Split::kRows},
    {"o_proj", Split::kHeads},
    {"out_proj", Split::kHeads},
    {"dense", Split::kHeads},
    {"wo", Split::kHeads},
    {"down_proj", Split::kColumns},
    {"w2", Split::kColumns},
    {"fc2", Split::kColumns},
    {"dense_4h_to_h", Split::kColumns},
};

// Models whose modules of these names are the ones that engines split, and whose configs say how
// many heads there are. Elsewhere a name may stand for something else: Qwen's first w2 makes
// features.
constexpr std::string_view kSplitModels[] = {
    "llama", "mistral", "ministral3", "mixtral", "qwen2",   "qwen3", "gemma",     "gemma2",
    "phi3",  "bloom",   "gpt_neox",   "falcon",  "granite", "olmo2", "internlm2", "stablelm"};

bool is_known(const std::string& model_type) {
  return std::find(std::begin(kSplitModels), std::end(kSplitModels), model_type) !=
         std::end(kSplitModels);
}

Split split_of(const std::string& layer) {
  const std::string leaf = leaf_of_layer(layer);
  const auto* const found = std::find_if(std::begin(kNamed), std::end(kNamed),
                                         [&](const Named& named) { return named.leaf == leaf; });
  return found == std::end(kNamed) ? Split::kNone : found->split;
}

// The rank's part of one layer.
class Splitter {
 public:
  Splitter(const QuantizedRows& layer, const CheckpointConfig& config,
           const TensorParallel& parallel)
      : layer_(layer), config_(config), parallel_(parallel) {}

  void split(LayerView* view) const {
    if (!is_known(config_.model_type)) {
      refuse(layer_,
             fmt::format("how the layers of model type \"{}\" are split over several ranks is "
                         "not known",
                         excerpt(config_.model_type)));
    }
    const Split kind = split_of(layer_.name());
    if (kind == Split::kNone) {
      view->is_whole = true;
      return;
    }
    if (layer_.matrices() != 1) refuse(layer_, "stacked experts are not split over several ranks");
    if (kind == Split::kHeads || kind == Split::kColumns) {
      if (kind == Split::kHeads) check_heads();
      view->columns = columns();
      view->has_bias = parallel_.rank == 0;
    } else {
      view->rows.push_back(rows(kind));
    }
  }

 private:
  void check_heads() const {
    if (config_.heads < 1)
      refuse(layer_, "the config does not say how many heads there are to split");
    if (config_.heads % parallel_.size != 0) {
      refuse(layer_,
             fmt::format("{} heads cannot be split over {} ranks", config_.heads, parallel_.size));
    }
  }

  ColumnRun columns() const {
    if (!layer_.group_index().empty()) {
      refuse(layer_,
             "it has act-order: columns of a rank would belong to groups of all ranks, so it "
             "cannot be "
             "split along K");
    }
    const std::int64_t count = layer_.k() / parallel_.size;
    if (layer_.k() % parallel_.size != 0 || count % kColumnStep != 0) {
      refuse(layer_, fmt::format("K = {} cannot be split over {} ranks in steps of {} columns",
                                 layer_.k(), parallel_.size, kColumnStep));
    }
    return {parallel_.rank * count, count};
  }

  std::vector<RowRun> rows(Split kind) const {
    const std::int64_t n = layer_.n();
    switch (kind) {
      case Split::kQueries:
        return {queries(0, n)};
      case Split::kKeys:
        return {keys(0, n)};
      case Split::kQkv: {
        check_heads();
        const std::int64_t heads = config_.heads + 2 * config_.kv_heads;
        if (n % heads != 0) {
          refuse(layer_,
                 fmt::format("{} rows are not those of {} heads of queries and {} of keys and "
                             "values each",
                             n, config_.heads, config_.kv_heads));
        }
        const std::int64_t q = n / heads * config_.heads;
        const std::int64_t kv = n / heads * config_.kv_heads;
        return {queries(0, q), keys(q, kv), keys(q + kv, kv)};
      }
      case Split::kHalves:
        if (n % 2 != 0) refuse(layer_, fmt::format("{} rows are no two halves", n));
        return {even(0, n / 2), even(n / 2, n / 2)};
      default:
        return {even(0, n)};
    }
  }

  RowRun even(std::int64_t first, std::int64_t count) const {
    const std::int64_t part = count / parallel_.size;
    if (count % parallel_.size != 0) {
      refuse(layer_, fmt::format("{} rows cannot be split over {} ranks", count, parallel_.size));
    }
    return {first + parallel_.rank * part, part};
  }

  RowRun queries(std::int64_t first, std::int64_t count) const {
    check_heads();
    return even(first, count);
  }

  // Fewer heads than ranks: several ranks have the same one.
  RowRun keys(std::int64_t first, std::int64_t count) const {
    check_heads();
    const std::int64_t heads = config_.kv_heads;
    if (heads % parallel_.size == 0) return even(first, count);
    if (heads < 1 || parallel_.size % heads != 0 || count % heads != 0) {
      refuse(layer_,
             fmt::format("{} heads of keys cannot be split over {} ranks", heads, parallel_.size));
    }
    const std::int64_t dim = count / heads;
    return {first + parallel_.rank / (parallel_.size / heads) * dim, dim};
  }

  const QuantizedRows& layer_;
  const CheckpointConfig& config_;
  const TensorParallel& parallel_;
};

}  // namespace

void split(const QuantizedRows& layer, const CheckpointConfig& config,
           const TensorParallel& parallel, LayerView* view) {
  Splitter(layer, config, parallel).split(view);
}

}  // namespace heddle
