#include "checkpoint/plan/expert_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "checkpoint/modules/layer_error.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

// The fields of two specs that differ, with both values: "/weight/bits is 8, not 4".
std::string difference_of(const std::string& spec, const std::string& wanted) {
  const nlohmann::json a = nlohmann::json::parse(spec).flatten();
  const nlohmann::json b = nlohmann::json::parse(wanted).flatten();
  std::set<std::string> fields;
  for (const nlohmann::json& fields_of : {a, b}) {
    for (const auto& field : fields_of.items()) fields.insert(field.key());
  }
  const auto shown = [](const nlohmann::json& fields_of, const std::string& field) {
    return fields_of.contains(field) ? fields_of.at(field).dump() : std::string("absent");
  };
  std::string text;
  for (const std::string& field : fields) {
    if (shown(a, field) == shown(b, field)) continue;
    text += fmt::format("{}{} is {}, not {}", text.empty() ? "" : ", ", field, shown(a, field),
                        shown(b, field));
  }
  return text;
}

bool has_tensor_scale(const LayerName& layer) {
  return layer.kind == LayerName::Kind::kFp4 || layer.kind == LayerName::Kind::kPackedFp4;
}

// Gates and ups of one expert may have a scale for the whole tensor each, where a kernel has one
// for both.
TensorScales tensor_scales_of(const Checkpoint& checkpoint, const CheckpointConfig& config,
                              const TensorParallel& parallel, const ExpertProduct& experts,
                              std::vector<std::string>* notes) {
  for (const LayerGroup& group : experts.each) {
    if (group.parts.size() < 2 || !has_tensor_scale(group.parts.front())) break;
    const ViewedParts viewed = read_parts(checkpoint, group, config, parallel, Load::kShape);
    if (why_apart(viewed.parts).empty() ||
        !why_apart(viewed.parts, TensorScales::kFolded).empty()) {
      continue;
    }
    notes->push_back(fmt::format(
        "{}: scales of groups are FP32, since gates and ups such as those of {} have other "
        "scales for the whole tensor",
        excerpt(experts.name), excerpt(group.name)));
    return TensorScales::kFolded;
  }
  return TensorScales::kOne;
}

}  // namespace

ProductOfExperts product_of_experts(
    const Checkpoint& checkpoint, const CheckpointConfig& config, const TensorParallel& parallel,
    const ExpertProduct& experts,
    const std::function<void(const LayerGroup&, const ViewedParts&)>& see_first,
    std::vector<std::string>* notes) {
  ProductOfExperts product;
  product.tensor_scales = tensor_scales_of(checkpoint, config, parallel, experts, notes);
  std::string first;
  bool act_order = false;
  for (const LayerGroup& group : experts.each) {
    ViewedParts viewed = read_parts(checkpoint, group, config, parallel, Load::kShape);
    const std::string apart = why_apart(viewed.parts, product.tensor_scales);
    if (!apart.empty()) {
      refuse_layer(group.name, apart + ": one kernel takes both, and they cannot be joined");
    }
    product.biases.add(checkpoint, group, viewed);
    const bool is_first = first.empty();
    if (is_first) see_first(group, viewed);
    const FusedLayer layer(group.name, std::move(viewed.parts), config.dtype,
                           product.tensor_scales);
    GemmSpec gemm = layer.spec();
    for (const LayerName& part : group.parts) {
      gemm.pre_scale = gemm.pre_scale || checkpoint.find(pre_scale_of(part.name)) != nullptr;
    }
    product.orders.push_back(layer.permutation());
    act_order = act_order || gemm.act_order;
    gemm.act_order = false;  // columns that happen to be in order are an order, too
    std::string text = Spec::from_gemm(gemm).canonical_json();
    if (is_first) {
      product.gemm = gemm;
      product.heights = layer.heights();
      first = std::move(text);
    } else if (text != first || layer.heights() != product.heights) {
      std::string other = difference_of(text, first);
      if (other.empty()) {
        other = fmt::format("its parts have {} rows, not {}", fmt::join(layer.heights(), " + "),
                            fmt::join(product.heights, " + "));
      }
      refuse_layer(group.name, fmt::format("it is not as {} is: {}",
                                           excerpt(experts.each.front().name), other));
    }
  }
  product.gemm.act_order = act_order;
  return product;
}

}  // namespace heddle
