#include "checkpoint/forms/read_layer.h"

#include "checkpoint/forms/integer_layer.h"
#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_roles.h"

namespace heddle {

std::unique_ptr<QuantizedRows> read_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                          const CheckpointConfig& config, Load load) {
  // Its tensors tell all of it, whatever the quantiser did to other layers.
  if (layer.is_plain()) {
    return read_plain_layer(checkpoint, layer, config, load);
  }
  const Scheme* scheme = scheme_of_layer(config, layer);
  if (scheme != nullptr && !scheme->unread.empty()) {
    refuse_layer(layer.name, scheme->unread);
  }
  switch (layer.kind) {
    case LayerName::Kind::kBytes:
    case LayerName::Kind::kNamedBytes:
      return read_byte_layer(checkpoint, layer, config, load);
    case LayerName::Kind::kMxfp4:
    case LayerName::Kind::kMxfp4Experts:
    case LayerName::Kind::kFp4:
    case LayerName::Kind::kPackedFp4:
      return read_fp4_layer(checkpoint, layer, load);
    case LayerName::Kind::kQweight:
    case LayerName::Kind::kPacked:
    case LayerName::Kind::kQuarkPacked:
    case LayerName::Kind::kPlain:
    case LayerName::Kind::kPlainExperts:
      break;
  }
  return std::make_unique<IntegerLayer>(IntegerLayer::read(checkpoint, layer, config, load));
}

}  // namespace heddle
