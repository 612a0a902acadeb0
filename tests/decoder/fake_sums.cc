#include "tests/decoder/fake_sums.h"

#include <mutex>

#include "tests/fake_driver/fake_driver.h"

namespace heddle::testing {

::Decoder::SumOfRanks FakeSums::of(int rank) {
  return [this, rank](DeviceOutput values, Stream stream) {
    const std::lock_guard<std::mutex> lock(fake::state().mutex);
    auto* const on = static_cast<fake::FakeStream*>(stream);
    asked.at(static_cast<std::size_t>(rank))
        .push_back({values.bytes, fake::state().launches.size(), on->capturing});
    // As the driver does all work, this is done with its books locked.
    const fake::Work work = [this, rank, values] {
      fake::state().mutex.unlock();
      add(rank, values);
      fake::state().mutex.lock();
    };
    if (on->capturing) {
      on->captured.push_back(work);
    } else {
      work();
    }
  };
}

void FakeSums::add(int rank, DeviceOutput values) {
  values_.at(static_cast<std::size_t>(rank)) = static_cast<std::uint16_t*>(values.data);
  both_.arrive_and_wait();
  if (rank == 0) {
    for (std::size_t i = 0; i < values.bytes / 2; ++i) {
      const double sum =
          float16_to_double(format_, values_[0][i]) + float16_to_double(format_, values_[1][i]);
      values_[0][i] = values_[1][i] = float16_from_double(format_, sum);
    }
  }
  both_.arrive_and_wait();
}

}  // namespace heddle::testing
