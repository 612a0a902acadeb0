// The unit of packed weights.
#pragma once

namespace heddle::device {

struct Chunk {
  static constexpr int kRows = 16;
  static constexpr int kColumns = 128;
};

}  // namespace heddle::device
