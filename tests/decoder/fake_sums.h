// Sums over two ranks on the fake driver.
#ifndef HEDDLE_TESTS_DECODER_FAKE_SUMS_H_
#define HEDDLE_TESTS_DECODER_FAKE_SUMS_H_

#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "examples/decoder/decoder.h"
#include "generator/decode/float16.h"

namespace heddle::testing {

// What NCCL does, on the fake driver, whose devices' memory is the process's own: sums the values
// of both ranks, in the order of their streams.
class FakeSums {
 public:
  explicit FakeSums(const Float16Format& format) : format_(format) {}
  ::Decoder::SumOfRanks of(int rank);

  // What each rank was asked for: bytes, and the launches that all devices had seen by then.
  struct Asked {
    std::size_t bytes = 0;
    std::size_t launches = 0;
    bool captured = false;
  };
  std::array<std::vector<Asked>, 2> asked;

 private:
  void add(int rank, DeviceOutput values);

  const Float16Format format_;
  std::array<std::uint16_t*, 2> values_{};
  std::barrier<> both_{2};
};

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_DECODER_FAKE_SUMS_H_
