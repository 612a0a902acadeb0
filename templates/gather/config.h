// The configuration of gather.cuh.
#pragma once

#include "config/config.h"

namespace heddle::device {

struct GatherConfig {
  int k;             // columns of X
  int tile_rows;     // tokens of a thread block
  int tile_columns;  // columns of a thread block, eight for each thread
  bool pre_scale;    // each column has a factor

  HEDDLE_FIELDS(k, tile_rows, tile_columns, pre_scale)
};

}  // namespace heddle::device
