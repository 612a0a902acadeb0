#include "checkpoint/plan/read_group.h"

#include <utility>

#include "checkpoint/forms/read_layer.h"
#include "checkpoint/plan/choose_view.h"
#include "checkpoint/plan/expected_layers.h"
#include "checkpoint/plan/expert_order.h"

namespace heddle {

ViewedParts read_parts(const Checkpoint& checkpoint, const LayerGroup& group,
                       const CheckpointConfig& config, const TensorParallel& parallel, Load load,
                       const std::vector<std::int32_t>& rows) {
  ViewedParts viewed;
  for (const LayerName& name : group.parts) {
    auto part = read_layer(checkpoint, name, config, load);
    if (name.is_plain()) {
      ExpectedLayers(config).check_sides(name.name, part->n(), part->k());
    }
    viewed.plain_heights.push_back(part->n());
    viewed.plain_k = part->k();
    viewed.is_convolution = viewed.is_convolution || part->plain_shape() != part->shape();
    viewed.views.push_back(view_of(*part, config, parallel));
    if (!rows.empty()) {
      viewed.views.back().rows.push_back(ordered_rows(name.name, part->n(), rows));
    }
    viewed.parts.push_back(viewed_rows(viewed.views.back(), std::move(part)));
  }
  return viewed;
}

FusedLayer read_group(const Checkpoint& checkpoint, const LayerGroup& group,
                      const CheckpointConfig& config, const TensorParallel& parallel, Load load,
                      TensorScales tensor_scales, const std::vector<std::int32_t>& rows) {
  return {group.name, read_parts(checkpoint, group, config, parallel, load, rows).parts,
          config.dtype, tensor_scales};
}

}  // namespace heddle
