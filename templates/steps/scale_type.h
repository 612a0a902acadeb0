// The types of stored scales.
#pragma once

#include "config/config.h"

namespace heddle::device {

HEDDLE_ENUM(ScaleType, kFp16, kBf16, kFp32, kE8m0, kE4m3);

}  // namespace heddle::device
