// What `heddle models` and docs/models.md say of each family.
#include <algorithm>

#include "generator/model/family_table.h"
#include "generator/model/model_block.h"
#include "heddle/model.h"

namespace heddle {
namespace {

void add(const std::string& text, std::vector<std::string>* list) {
  if (std::find(list->begin(), list->end(), text) == list->end()) list->push_back(text);
}

const char* name_of(Module module) {
  switch (module) {
    case Module::kLinear:
    case Module::kConv1D:
      return "dense linear layers";
    case Module::kSmall:
      return "routers, gates";
    case Module::kGrouped:
      return "grouped linear layers";
    case Module::kExpert:
      return "experts";
    case Module::kConvolution:
      return "convolutions";
    case Module::kScan:
      return "recurrences";
  }
  return "";
}

void add_linears(const LinearRows& rows, ModelFamily* family) {
  for (const LinearRow& row : rows) {
    const bool served = row.module == Module::kLinear || row.module == Module::kConv1D ||
                        row.module == Module::kExpert;
    add(name_of(row.module), served ? &family->served : &family->listed);
  }
}

// Whether values may have another size than keys.
bool has_other_values(const FamilyRow& row, const AttentionRow& attention) {
  if (attention.value_dim == attention.head_dim) return false;
  const auto is_value_dim = [](const NamedExpression& one) { return one.name == "value_dim"; };
  return attention.value_dim != AttentionRow().value_dim ||
         std::any_of(row.names.begin(), row.names.end(), is_value_dim);
}

void add_mixer(const FamilyRow& row, const MixerRow& mixer, ModelFamily* family) {
  add_linears(mixer.linears, family);
  if (mixer.kind == MixerKind::kLatentAttention) {
    add("latent attention", &family->listed);
  } else if (mixer.kind == MixerKind::kCrossAttention) {
    add("cross attention", &family->listed);
  } else if (mixer.kind == MixerKind::kAttention) {
    const AttentionRow& attention = mixer.attention;
    const bool chosen = attention.index_heads != "0";
    if (chosen) {
      add("attention to chosen tokens", &family->listed);
    } else if (has_other_values(row, attention)) {
      add("attention (values differ in size)", &family->listed);
    } else if (attention.chunk != "0") {
      add("attention in chunks", &family->listed);
    } else {
      add("attention", &family->served);
    }
  }
}

// Whether experts may have more between their matrices than kernels compute.
bool clamps_experts(const FamilyRow& row, const FeedForwardRow& feed_forward) {
  const ExpertsRow& experts = feed_forward.experts;
  if (feed_forward.kind != FeedForwardKind::kExperts || experts.clamp_limit != "0") return false;
  return (experts.plain_gate.empty() ? row.plain_gate : experts.plain_gate) != "true";
}

}  // namespace

std::vector<ModelFamily> known_families() {
  std::vector<ModelFamily> list;
  for (const FamilyRow* row : family_rows()) {
    ModelFamily family;
    family.name = row->name;
    family.model_types.assign(row->model_types.begin(), row->model_types.end());
    for (const Wrapper& wrapper : wrappers()) {
      const auto& types = row->model_types;
      if (std::find(types.begin(), types.end(), wrapper.language) == types.end()) continue;
      for (const std::string_view type : wrapper.model_types) {
        add(std::string(type), &family.model_types);
      }
    }
    for (const MixerRow& mixer : row->mixers) add_mixer(*row, mixer, &family);
    for (const FeedForwardRow& feed_forward : row->feed_forwards) {
      add_linears(feed_forward.linears, &family);
      if (clamps_experts(*row, feed_forward)) add("experts that clamp", &family.listed);
    }
    add_linears(row->outside, &family);
    if (!row->others.empty()) add("multi-token prediction", &family.listed);
    list.push_back(std::move(family));
  }
  return list;
}

}  // namespace heddle
