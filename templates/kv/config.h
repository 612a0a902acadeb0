// What the configurations of all kernels on a key-value cache have in common.
#pragma once

#include "config/config.h"
#include "steps/scale_type.h"

namespace heddle::device {

// Which values share a scale. kToken: of all heads of a token; kHead: of one head of a token;
// kGroup: of a part of these; kChannel: one element of a head in a block of tokens. Of kTensor and
// kNone no scales are stored.
HEDDLE_ENUM(KvGranularity, kNone, kTensor, kToken, kHead, kGroup, kChannel);

HEDDLE_BOTH constexpr int bytes_of_scale(ScaleType type) {
  if (type == ScaleType::kFp32) return 4;
  return type == ScaleType::kE8m0 || type == ScaleType::kE4m3 ? 1 : 2;
}

}  // namespace heddle::device
