#include "tests/emulator/global_memory.h"

#include <algorithm>
#include <cstring>

namespace emulator {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kAlignment = 256;
constexpr std::uint8_t kNanByte = 0xff;

bool poisoned(const std::uint8_t* begin, const std::uint8_t* end) {
  return std::all_of(begin, end, [](std::uint8_t byte) { return byte == kNanByte; });
}

}  // namespace

std::uint8_t* GlobalMemory::allocate(std::size_t bytes, Access access) {
  const std::size_t all = bytes + 2 * kGuardBytes + kAlignment;
  Buffer buffer{std::make_unique<std::uint8_t[]>(all), all, nullptr, bytes, access};
  std::memset(buffer.memory.get(), kNanByte, all);
  void* begin = buffer.memory.get() + kGuardBytes;
  std::size_t room = all - kGuardBytes;
  buffer.begin = static_cast<std::uint8_t*>(std::align(kAlignment, bytes, begin, room));
  buffers_.push_back(std::move(buffer));
  return buffers_.back().begin;
}

std::uint8_t* GlobalMemory::allocate(const void* data, std::size_t bytes, Access access) {
  std::uint8_t* begin = allocate(bytes, access);
  std::memcpy(begin, data, bytes);
  return begin;
}

std::uint8_t* GlobalMemory::allocate_late(const void* data, const void* before, std::size_t bytes) {
  std::uint8_t* begin = allocate(data, bytes, Access::kReadAsHint);
  const auto* first = static_cast<const std::uint8_t*>(before);
  buffers_.back().before.assign(first, first + bytes);
  return begin;
}

const GlobalMemory::Buffer* GlobalMemory::find(const void* pointer,
                                               std::size_t bytes) const noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  for (const Buffer& buffer : buffers_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer.begin);
    if (at >= begin && at + bytes <= begin + buffer.bytes) return &buffer;
  }
  return nullptr;
}
const Access* GlobalMemory::access(const void* pointer, std::size_t bytes) const noexcept {
  const Buffer* buffer = find(pointer, bytes);
  return buffer == nullptr ? nullptr : &buffer->access;
}
void GlobalMemory::settle(const void* begin, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  settled_.push_back({first, first + bytes});
}
bool GlobalMemory::is_settled(const void* pointer, std::size_t bytes) const noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  return std::any_of(settled_.begin(), settled_.end(), [&](const Bytes& settled) {
    return at >= settled.begin && at + bytes <= settled.end;
  });
}
const void* GlobalMemory::before(const void* pointer) const noexcept {
  const Buffer* buffer = find(pointer, 1);
  return buffer->before.data() + (static_cast<const std::uint8_t*>(pointer) - buffer->begin);
}

bool GlobalMemory::guards_intact() const noexcept {
  return std::all_of(buffers_.begin(), buffers_.end(), [](const Buffer& buffer) {
    return poisoned(buffer.memory.get(), buffer.begin) &&
           poisoned(buffer.begin + buffer.bytes, buffer.memory.get() + buffer.memory_bytes);
  });
}

}  // namespace emulator
