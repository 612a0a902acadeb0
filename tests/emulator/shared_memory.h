// The shared memory of one block: bytes and mbarriers, and what is wrong to do with them.
#ifndef HEDDLE_TESTS_EMULATOR_SHARED_MEMORY_H_
#define HEDDLE_TESTS_EMULATOR_SHARED_MEMORY_H_

#include <cstdint>
#include <map>
#include <vector>

namespace emulator {

// A phase ends when no arrivals are pending and all expected bytes have come.
struct Mbarrier {
  unsigned arrivals = 0;  // of a phase
  unsigned pending = 0;
  std::int64_t bytes = 0;      // below zero where they come before they are expected
  unsigned phase = 0;          // parity of the current one
  bool remote = false;         // another block's threads have a part in the current phase
  bool remote_before = false;  // the same of the phase before
};

// Every function ends the run (see fail()) when an access is not inside of the memory, not aligned
// to its size, or to bytes that a copy is writing or that are a barrier.
class SharedMemory {
 public:
  // Of the first byte; as on a GPU, not 0.
  static constexpr std::uint32_t kBegin = 1024;

  // Filled with 0xFF: NaN in every floating point type.
  explicit SharedMemory(std::size_t bytes);

  void load(std::uint32_t address, void* to, unsigned bytes) const;
  void store(std::uint32_t address, const void* from, unsigned bytes);

  // The bytes belong to an asynchronous copy from the one to the other.
  void begin_copy(std::uint32_t address, unsigned bytes);
  void end_copy(std::uint32_t address, const void* from, unsigned bytes);

  void make_barrier(std::uint32_t address, unsigned arrivals);
  Mbarrier& barrier(std::uint32_t address);

 private:
  enum class Use : std::uint8_t { kPlain, kCopy, kBarrier };  // of 8 bytes

  std::size_t checked(std::uint32_t address, unsigned bytes, Use use) const;
  void set_use(std::size_t offset, unsigned bytes, Use use);

  std::vector<std::uint8_t> bytes_;
  std::vector<Use> uses_;
  std::map<std::uint32_t, Mbarrier> barriers_;
};

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_SHARED_MEMORY_H_
