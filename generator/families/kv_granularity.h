#ifndef HEDDLE_GENERATOR_FAMILIES_KV_GRANULARITY_H_
#define HEDDLE_GENERATOR_FAMILIES_KV_GRANULARITY_H_

#include "heddle/kv_spec.h"
#include "kv/config.h"

namespace heddle {

// Which values share a scale, as the templates have it. Precondition: a complete spec has this
// granularity, which leaves out kAuto.
constexpr device::KvGranularity kv_granularity(KvGranularity granularity) {
  switch (granularity) {
    case KvGranularity::kTensor:
      return device::KvGranularity::kTensor;
    case KvGranularity::kToken:
      return device::KvGranularity::kToken;
    case KvGranularity::kHead:
      return device::KvGranularity::kHead;
    case KvGranularity::kGroup:
      return device::KvGranularity::kGroup;
    case KvGranularity::kChannel:
      return device::KvGranularity::kChannel;
    case KvGranularity::kAuto:
    case KvGranularity::kNone:
      break;
  }
  return device::KvGranularity::kNone;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_KV_GRANULARITY_H_
