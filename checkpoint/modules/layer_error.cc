#include "checkpoint/modules/layer_error.h"

#include <fmt/format.h>

#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {

void refuse_layer(std::string_view name, const std::string& why) {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.layer",
              fmt::format("layer \"{}\": {}", excerpt(name), why));
}

}  // namespace heddle
