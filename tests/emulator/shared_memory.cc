#include "tests/emulator/shared_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "tests/emulator/device.h"

namespace emulator {
namespace {

constexpr unsigned kWordBytes = 4;
constexpr unsigned kBarrierBytes = 8;
constexpr unsigned kLargestAccess = 16;

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(bytes, 0xff), words_((bytes + kWordBytes - 1) / kWordBytes) {}

std::size_t SharedMemory::offset_of(std::uint32_t address, unsigned bytes) const {
  const std::uint32_t offset = address - kBegin;
  if (address < kBegin || std::size_t{offset} + bytes > bytes_.size()) {
    fail(fmt::format("{} bytes at shared offset {} are outside of {}", bytes,
                     static_cast<std::int64_t>(address) - kBegin, bytes_.size()));
  }
  if (offset % std::min(bytes, kLargestAccess) != 0) {
    fail(fmt::format("{} bytes at shared offset {} are not aligned", bytes, offset));
  }
  return offset;
}

SharedMemory::Words SharedMemory::words(std::size_t offset, unsigned bytes, Use use) {
  const Words range{words_.data() + offset / kWordBytes,
                    words_.data() + (offset + bytes + kWordBytes - 1) / kWordBytes};
  for (const Word& word : range) {
    if (word.use == use) continue;
    const char* why = word.use == Use::kCopy      ? "a copy is writing"
                      : word.use == Use::kBarrier ? "are a barrier"
                                                  : "no copy is writing";
    fail(fmt::format("access to {} bytes at shared offset {}, which {}", bytes, offset, why));
  }
  return range;
}

void SharedMemory::before_read(std::size_t offset, const Word& word, const Actor& actor) const {
  const auto check = [&](const Stamp& written) {
    if (actor.clock.knows(written)) return;
    fail(
        fmt::format("access near shared offset {} is not ordered after the last write, by agent {}",
                    offset, written.agent));
  };
  check(word.written);
  for (const Stamp& stamp : word.maxima) check(stamp);
}
void SharedMemory::before_write(std::size_t offset, const Word& word, const Actor& actor) const {
  before_read(offset, word, actor);
  for (const Stamp& stamp : word.read) {
    if (actor.clock.knows(stamp)) continue;
    fail(fmt::format("write near shared offset {} is not ordered after a read, by agent {}", offset,
                     stamp.agent));
  }
}

void SharedMemory::load(std::uint32_t address, void* to, unsigned bytes, const Actor& actor) {
  const std::size_t offset = offset_of(address, bytes);
  for (Word& word : words(offset, bytes, Use::kPlain)) {
    before_read(offset, word, actor);
    const auto mine = std::find_if(word.read.begin(), word.read.end(),
                                   [&](const Stamp& stamp) { return stamp.agent == actor.agent; });
    if (mine == word.read.end()) {
      word.read.push_back(actor.now());
    } else {
      *mine = actor.now();
    }
  }
  std::memcpy(to, bytes_.data() + offset, bytes);
}

void SharedMemory::store(std::uint32_t address, const void* from, unsigned bytes,
                         const Actor& actor) {
  const std::size_t offset = offset_of(address, bytes);
  for (Word& word : words(offset, bytes, Use::kPlain)) {
    before_write(offset, word, actor);
    word.written = actor.now();
    word.stored = true;
    word.read.clear();
    word.maxima.clear();
  }
  std::memcpy(bytes_.data() + offset, from, bytes);
}

void SharedMemory::max(std::uint32_t address, std::uint32_t value, const Actor& actor) {
  const std::size_t offset = offset_of(address, kWordBytes);
  for (Word& word : words(offset, kWordBytes, Use::kPlain)) {
    Word plain = word;
    plain.maxima.clear();
    before_write(offset, plain, actor);
    word.maxima.push_back(actor.now());
  }
  std::uint32_t old = 0;
  std::memcpy(&old, bytes_.data() + offset, kWordBytes);
  value = std::max(old, value);
  std::memcpy(bytes_.data() + offset, &value, kWordBytes);
}

void SharedMemory::begin_copy(std::uint32_t address, unsigned bytes, const Actor& actor,
                              bool bulk) {
  if (bulk && bytes % kLargestAccess != 0) fail(fmt::format("a copy of {} bytes", bytes));
  const std::size_t offset = offset_of(address, bytes);
  for (Word& word : words(offset, bytes, Use::kPlain)) {
    before_write(offset, word, actor);
    if (bulk && word.stored) fail("a bulk copy over bytes that a thread has stored");
    word.use = Use::kCopy;
  }
}

void SharedMemory::end_copy(std::uint32_t address, const void* from, unsigned bytes,
                            const Word& as) {
  const std::size_t offset = offset_of(address, bytes);
  for (Word& word : words(offset, bytes, Use::kCopy)) word = as;
  std::memcpy(bytes_.data() + offset, from, bytes);
}
void SharedMemory::end_copy(std::uint32_t address, const void* from, unsigned bytes,
                            const Mbarrier& barrier) {
  end_copy(address, from, bytes, {Use::kPlain, false, {barrier.agent, barrier.phases + 1}, {}});
}
void SharedMemory::end_copy(std::uint32_t address, const void* from, unsigned bytes,
                            const Actor& actor) {
  end_copy(address, from, bytes, {Use::kPlain, true, actor.now(), {}});
}

void SharedMemory::make_barrier(std::uint32_t address, unsigned arrivals, std::uint32_t agent,
                                const Actor& actor) {
  const std::size_t offset = offset_of(address, kBarrierBytes);
  for (Word& word : words(offset, kBarrierBytes, Use::kPlain)) {
    before_write(offset, word, actor);
    word.use = Use::kBarrier;
  }
  Mbarrier& barrier = barriers_[address];
  barrier.arrivals = barrier.pending = arrivals;
  barrier.agent = agent;
  barrier.made = actor.now();
}

void SharedMemory::fence_barriers(const Actor& actor) {
  for (auto& [address, barrier] : barriers_) {
    if (barrier.made.agent == actor.agent) barrier.fenced = true;
  }
}

Mbarrier& SharedMemory::barrier(std::uint32_t address) {
  const auto found = barriers_.find(address);
  if (found == barriers_.end()) {
    fail(fmt::format("no one has initialised the barrier at shared offset {}",
                     static_cast<std::int64_t>(address) - kBegin));
  }
  return found->second;
}

Mbarrier& SharedMemory::barrier(std::uint32_t address, const Actor& actor, bool by_copy) {
  Mbarrier& found = barrier(address);
  const bool own = found.made.agent == actor.agent && !by_copy;
  if (!actor.clock.knows(found.made) || !(own || found.fenced)) {
    fail(fmt::format("use of the barrier at shared offset {} is not ordered after its start",
                     address - kBegin));
  }
  return found;
}

}  // namespace emulator
