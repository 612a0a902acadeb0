#include "generator/render/kv_granularity.h"

namespace heddle {

std::string kv_granularity_name(KvGranularity granularity) {
  switch (granularity) {
    case KvGranularity::kTensor:
      return "kTensor";
    case KvGranularity::kToken:
      return "kToken";
    case KvGranularity::kHead:
      return "kHead";
    case KvGranularity::kGroup:
      return "kGroup";
    case KvGranularity::kChannel:
      return "kChannel";
    case KvGranularity::kAuto:
    case KvGranularity::kNone:
      break;
  }
  return "kNone";
}

}  // namespace heddle
