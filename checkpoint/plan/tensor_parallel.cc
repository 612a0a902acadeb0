#include "checkpoint/plan/tensor_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/plan/selected_columns.h"
#include "generator/model/decoder.h"
#include "generator/model/family_table.h"
#include "generator/model/module_pattern.h"
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

Split split_of(Role role) {
  switch (role) {
    case Role::kQ:
      return Split::kQueries;
    case Role::kK:
    case Role::kV:
      return Split::kKeys;
    case Role::kQkv:
      return Split::kQkv;
    case Role::kGateUp:
      return Split::kHalves;
    case Role::kGate:
    case Role::kUp:
      return Split::kRows;
    case Role::kOut:
      return Split::kHeads;
    case Role::kDown:
      return Split::kColumns;
    case Role::kOther:
      break;
  }
  return Split::kNone;
}

// Modules that checkpoints of several model types have beside those of the family's row: fused ones
// and the head.
struct Named {
  std::string_view leaf;
  Split split;
};
constexpr Named kNamed[] = {
    {"q_proj", Split::kQueries}, {"k_proj", Split::kKeys},         {"v_proj", Split::kKeys},
    {"qkv_proj", Split::kQkv},   {"query_key_value", Split::kQkv}, {"gate_up_proj", Split::kHalves},
    {"gate_proj", Split::kRows}, {"up_proj", Split::kRows},        {"lm_head", Split::kRows},
    {"embed_out", Split::kRows}, {"o_proj", Split::kHeads},        {"down_proj", Split::kColumns},
};

LinearRows rows_of(const FamilyRow& family) {
  LinearRows rows;
  for (const MixerRow& mixer : family.mixers) {
    rows.insert(rows.end(), mixer.linears.begin(), mixer.linears.end());
  }
  for (const FeedForwardRow& row : family.feed_forwards) {
    rows.insert(rows.end(), row.linears.begin(), row.linears.end());
  }
  return rows;
}

// Models all of whose matrices make or take heads or features, and nothing else.
bool is_split(const LinearRows& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const LinearRow& row) {
    return row.role != Role::kOther || row.module == Module::kSmall;
  });
}

// By the module's path, since a name may stand for two of them.
Split split_in(const LinearRows& rows, const std::string& layer) {
  for (const LinearRow& row : rows) {
    if (matches_glob("*." + std::string(row.path), "." + layer)) return split_of(row.role);
  }
  const std::string leaf = leaf_of_layer(layer);
  for (const LinearRow& row : rows) {
    if (leaf_of(row.path) == leaf) return split_of(row.role);
  }
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
    const FamilyRow* const family = find_family(config_.model_type);
    const LinearRows linears = family == nullptr ? LinearRows() : rows_of(*family);
    if (family == nullptr || !is_split(linears)) {
      refuse(layer_,
             fmt::format("how the layers of model type \"{}\" are split over several ranks is "
                         "not known",
                         excerpt(config_.model_type)));
    }
    const Split kind = is_head() ? Split::kRows : split_in(linears, layer_.name());
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
  // By its path, since every model type has its own name for it.
  bool is_head() const {
    return std::any_of(config_.head_places.begin(), config_.head_places.end(),
                       [&](const HeadPlace& place) { return place.head == layer_.name(); });
  }

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
