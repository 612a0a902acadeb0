#include "tests/emulator/shared_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "tests/emulator/device.h"

namespace emulator {
namespace {

constexpr unsigned kUnit = 8;
constexpr unsigned kLargestAccess = 16;

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(bytes, 0xff), uses_((bytes + kUnit - 1) / kUnit, Use::kPlain) {}

std::size_t SharedMemory::checked(std::uint32_t address, unsigned bytes, Use use) const {
  const std::uint32_t offset = address - kBegin;
  if (address < kBegin || std::size_t{offset} + bytes > bytes_.size()) {
    fail(fmt::format("{} bytes at shared offset {} are outside of {}", bytes,
                     static_cast<std::int64_t>(address) - kBegin, bytes_.size()));
  }
  if (offset % std::min(bytes, kLargestAccess) != 0) {
    fail(fmt::format("{} bytes at shared offset {} are not aligned", bytes, offset));
  }
  for (std::size_t unit = offset / kUnit; unit <= (offset + bytes - 1) / kUnit; ++unit) {
    if (uses_[unit] == use) continue;
    const char* why = uses_[unit] == Use::kCopy      ? "a copy is writing"
                      : uses_[unit] == Use::kBarrier ? "are a barrier"
                                                     : "no one has begun to write";
    fail(fmt::format("access to {} bytes at shared offset {}, which {}", bytes, offset, why));
  }
  return offset;
}

void SharedMemory::set_use(std::size_t offset, unsigned bytes, Use use) {
  std::fill(uses_.begin() + static_cast<std::ptrdiff_t>(offset / kUnit),
            uses_.begin() + static_cast<std::ptrdiff_t>((offset + bytes + kUnit - 1) / kUnit), use);
}

void SharedMemory::load(std::uint32_t address, void* to, unsigned bytes) const {
  std::memcpy(to, bytes_.data() + checked(address, bytes, Use::kPlain), bytes);
}

void SharedMemory::store(std::uint32_t address, const void* from, unsigned bytes) {
  std::memcpy(bytes_.data() + checked(address, bytes, Use::kPlain), from, bytes);
}

void SharedMemory::begin_copy(std::uint32_t address, unsigned bytes) {
  if (bytes % kLargestAccess != 0) fail(fmt::format("a copy of {} bytes", bytes));
  set_use(checked(address, bytes, Use::kPlain), bytes, Use::kCopy);
}

void SharedMemory::end_copy(std::uint32_t address, const void* from, unsigned bytes) {
  const std::size_t offset = checked(address, bytes, Use::kCopy);
  std::memcpy(bytes_.data() + offset, from, bytes);
  set_use(offset, bytes, Use::kPlain);
}

void SharedMemory::make_barrier(std::uint32_t address, unsigned arrivals) {
  set_use(checked(address, kUnit, Use::kPlain), kUnit, Use::kBarrier);
  Mbarrier& barrier = barriers_[address];
  barrier.arrivals = barrier.pending = arrivals;
}

Mbarrier& SharedMemory::barrier(std::uint32_t address) {
  const auto found = barriers_.find(address);
  if (found == barriers_.end()) {
    fail(fmt::format("no one has initialised the barrier at shared offset {}",
                     static_cast<std::int64_t>(address) - kBegin));
  }
  return found->second;
}

}  // namespace emulator
