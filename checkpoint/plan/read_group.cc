#include "checkpoint/plan/read_group.h"

#include <utility>

#include "checkpoint/forms/read_layer.h"
#include "checkpoint/plan/choose_view.h"
#include "checkpoint/plan/expected_layers.h"

namespace heddle {

ViewedParts read_parts(const Checkpoint& checkpoint, const LayerGroup& group,
                       const CheckpointConfig& config, const TensorParallel& parallel, Load load) {
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
    viewed.parts.push_back(viewed_rows(viewed.views.back(), std::move(part)));
  }
  return viewed;
}

FusedLayer read_group(const Checkpoint& checkpoint, const LayerGroup& group,
                      const CheckpointConfig& config, const TensorParallel& parallel, Load load,
                      TensorScales tensor_scales) {
  return {group.name, read_parts(checkpoint, group, config, parallel, load).parts, config.dtype,
          tensor_scales};
}

}  // namespace heddle
