// What a schedule (schedule/row_split_k.cuh) asks for.
#pragma once

#include "gemv/config.h"

namespace heddle {

template <class Config>
struct GemvShape {
  static constexpr int kTotalUnits = Config::value.shape.chunks;
  static constexpr int kSplitK = Config::value.split_k;
};

}  // namespace heddle
