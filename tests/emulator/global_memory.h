// Buffers of the emulated device, each between guard bands.
#ifndef HEDDLE_TESTS_EMULATOR_GLOBAL_MEMORY_H_
#define HEDDLE_TESTS_EMULATOR_GLOBAL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace emulator {

// What a kernel may do with a buffer.
enum class Access {
  kReadEarly,   // read, even before the kernel ahead has ended
  kReadAsHint,  // the same in the L2 cache alone, where other bytes are until then
  kRead,
  kWrite,
};

class GlobalMemory {
 public:
  // 256-byte aligned like the driver's. Filled with 0xFF: NaN in every floating point type.
  std::uint8_t* allocate(std::size_t bytes, Access access);
  // With these bytes.
  std::uint8_t* allocate(const void* data, std::size_t bytes, Access access);
  // With these bytes, and as many that were there until the kernel ahead has ended: kReadAsHint.
  std::uint8_t* allocate_late(const void* data, const void* before, std::size_t bytes);

  // From now on kernels only read these bytes, even before the kernel ahead has ended, since one
  // before that has left them.
  void settle(const void* begin, std::size_t bytes);

  // What may be done with all of these bytes; null where they are not inside one buffer.
  const Access* access(const void* pointer, std::size_t bytes) const noexcept;
  bool is_settled(const void* pointer, std::size_t bytes) const noexcept;
  // What was there until the kernel ahead had ended. Precondition: in a buffer of kReadAsHint.
  const void* before(const void* pointer) const noexcept;
  // Whether all guard bands are as they were.
  bool guards_intact() const noexcept;

 private:
  struct Buffer {
    std::unique_ptr<std::uint8_t[]> memory;
    std::size_t memory_bytes;
    std::uint8_t* begin;
    std::size_t bytes;
    Access access;
    std::vector<std::uint8_t> before{};
  };
  struct Bytes {
    std::uintptr_t begin, end;
  };
  const Buffer* find(const void* pointer, std::size_t bytes) const noexcept;
  std::vector<Buffer> buffers_;
  std::vector<Bytes> settled_;
};

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_GLOBAL_MEMORY_H_
