#include "tests/emulator/shared_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/emulator/device.h"

namespace emulator {
namespace {

constexpr unsigned kWordBytes = 4;
constexpr unsigned kUnitBytes = 16;
constexpr unsigned kBarrierBytes = 8;
constexpr unsigned kLargestAccess = 16;

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(bytes, 0xff), units_((bytes + kUnitBytes - 1) / kUnitBytes) {}

std::size_t SharedMemory::offset_of(std::uint32_t address, unsigned bytes) const {
  const std::uint32_t offset = address - kBegin;
  if (address < kBegin || std::size_t{offset} + bytes > bytes_.size()) {
    fail(fmt::format("{} bytes at shared offset {} are outside of {}", bytes,
                     static_cast<std::int64_t>(address) - kBegin, bytes_.size()));
  }
  // Sizes are powers of two but for those of large copies, so there is nothing to divide by.
  const unsigned size = std::min(bytes, kLargestAccess);
  const bool is_power = (size & (size - 1)) == 0;
  if ((is_power ? offset & (size - 1) : offset % size) != 0) {
    fail(fmt::format("{} bytes at shared offset {} are not aligned", bytes, offset));
  }
  return offset;
}

template <typename Act>
void SharedMemory::for_words(std::size_t offset, unsigned bytes, Use use, bool alike,
                             const Act& act) {
  const auto visit = [&](Word& word) {
    if (word.use == use) return act(word);
    const char* why = word.use == Use::kCopy      ? "a copy is writing"
                      : word.use == Use::kBarrier ? "are a barrier"
                                                  : "no copy is writing";
    fail(fmt::format("access to {} bytes at shared offset {}, which {}", bytes, offset, why));
  };
  const std::size_t end = offset + bytes;
  for (std::size_t at = offset / kUnitBytes * kUnitBytes; at < end; at += kUnitBytes) {
    Unit& unit = units_[at / kUnitBytes];
    const bool covers = offset <= at && at + kUnitBytes <= end;
    if (covers && unit.is_whole) {
      visit(unit.words[0]);
      continue;
    }
    if (unit.is_whole) split(unit);
    for (unsigned i = 0; i < kUnitBytes / kWordBytes; ++i) {
      const std::size_t word = at + i * kWordBytes;
      if (word + kWordBytes > offset && word < end) visit(unit.words[i]);
    }
    unit.is_whole = covers && alike;
  }
}

void SharedMemory::split(Unit& unit) {
  const Word& first = unit.words[0];
  for (unsigned i = 1; i < kUnitBytes / kWordBytes; ++i) {
    Word& word = unit.words[i];
    word = first;
    if (first.place != 0) {
      word.place = static_cast<std::uint32_t>(more_reads_.size());
      more_reads_.push_back(std::vector<Stamp>(more_reads_[first.place]));
    }
  }
  unit.is_whole = false;
}

void SharedMemory::before_read(std::size_t offset, const Word& word, const Actor& actor) const {
  if (!actor.clock.knows(word.written)) {
    fail(
        fmt::format("access near shared offset {} is not ordered after the last write, by agent {}",
                    offset, word.written.agent));
  }
  if (word.has_maxima) check_maxima(offset, word, actor);
}
void SharedMemory::check_maxima(std::size_t offset, const Word& word, const Actor& actor) const {
  for (const Stamp& stamp : maxima_.at(&word)) {
    if (actor.clock.knows(stamp)) continue;
    fail(
        fmt::format("access near shared offset {} is not ordered after the last write, by agent {}",
                    offset, stamp.agent));
  }
}
void SharedMemory::before_write(std::size_t offset, const Word& word, const Actor& actor) const {
  before_read(offset, word, actor);
  const auto check = [&](const Stamp& stamp) {
    if (actor.clock.knows(stamp)) return;
    fail(fmt::format("write near shared offset {} is not ordered after a read, by agent {}", offset,
                     stamp.agent));
  };
  for (unsigned i = 0; i < word.reads; ++i) check(word.read[i]);
  if (word.place == 0) return;
  for (const Stamp& stamp : more_reads_[word.place]) check(stamp);
}

void SharedMemory::add_read(Word& word, const Actor& actor) {
  const Stamp now = actor.now();
  for (unsigned i = 0; i < word.reads; ++i) {
    if (word.read[i].agent == actor.agent) {
      word.read[i] = now;
      return;
    }
  }
  if (word.reads < Word::kMostReads) {
    word.read[word.reads++] = now;
    return;
  }
  if (word.place == 0 && free_places_.empty()) {
    word.place = static_cast<std::uint32_t>(more_reads_.size());
    more_reads_.emplace_back();
  } else if (word.place == 0) {
    word.place = free_places_.back();
    free_places_.pop_back();
  }
  for (Stamp& stamp : more_reads_[word.place]) {
    if (stamp.agent != actor.agent) continue;
    stamp = now;
    return;
  }
  more_reads_[word.place].push_back(now);
}
void SharedMemory::forget(Word& word) {
  word.reads = 0;
  if (word.place != 0) {
    more_reads_[word.place].clear();
    free_places_.push_back(std::exchange(word.place, 0));
  }
  if (std::exchange(word.has_maxima, false)) maxima_.erase(&word);
}

void SharedMemory::load(std::uint32_t address, void* to, unsigned bytes, const Actor& actor) {
  const std::size_t offset = offset_of(address, bytes);
  for_words(offset, bytes, Use::kPlain, false, [&](Word& word) {
    before_read(offset, word, actor);
    add_read(word, actor);
  });
  std::memcpy(to, bytes_.data() + offset, bytes);
}

void SharedMemory::store(std::uint32_t address, const void* from, unsigned bytes,
                         const Actor& actor) {
  const std::size_t offset = offset_of(address, bytes);
  for_words(offset, bytes, Use::kPlain, true, [&](Word& word) {
    before_write(offset, word, actor);
    word.written = actor.now();
    word.stored = true;
    forget(word);
  });
  std::memcpy(bytes_.data() + offset, from, bytes);
}

void SharedMemory::max(std::uint32_t address, std::uint32_t value, const Actor& actor) {
  change(address, actor, [value](std::uint32_t old) { return std::max(old, value); });
}

void SharedMemory::min(std::uint32_t address, std::uint32_t value, const Actor& actor) {
  change(address, actor, [value](std::uint32_t old) { return std::min(old, value); });
}

void SharedMemory::add(std::uint32_t address, std::uint32_t value, const Actor& actor) {
  change(address, actor, [value](std::uint32_t old) { return old + value; });
}

void SharedMemory::change(std::uint32_t address, const Actor& actor,
                          const std::function<std::uint32_t(std::uint32_t)>& changed) {
  const std::size_t offset = offset_of(address, kWordBytes);
  for_words(offset, kWordBytes, Use::kPlain, false, [&](Word& word) {
    Word plain = word;
    plain.has_maxima = false;
    before_write(offset, plain, actor);
    word.has_maxima = true;
    maxima_[&word].push_back(actor.now());
  });
  std::uint32_t word = 0;
  std::memcpy(&word, bytes_.data() + offset, kWordBytes);
  word = changed(word);
  std::memcpy(bytes_.data() + offset, &word, kWordBytes);
}

void SharedMemory::begin_copy(std::uint32_t address, unsigned bytes, const Actor& actor,
                              bool bulk) {
  if (bulk && bytes % kLargestAccess != 0) fail(fmt::format("a copy of {} bytes", bytes));
  const std::size_t offset = offset_of(address, bytes);
  for_words(offset, bytes, Use::kPlain, false, [&](Word& word) {
    before_write(offset, word, actor);
    if (bulk && word.stored) fail("a bulk copy over bytes that a thread has stored");
    word.use = Use::kCopy;
  });
}

void SharedMemory::end_copy(std::uint32_t address, const void* from, unsigned bytes,
                            const Word& as) {
  const std::size_t offset = offset_of(address, bytes);
  for_words(offset, bytes, Use::kCopy, true, [&](Word& word) {
    forget(word);
    word = as;
  });
  std::memcpy(bytes_.data() + offset, from, bytes);
}
void SharedMemory::end_copy(std::uint32_t address, const void* from, unsigned bytes,
                            const Mbarrier& barrier) {
  end_copy(address, from, bytes, {.stored = false, .written = {barrier.agent, barrier.phases + 1}});
}
void SharedMemory::end_copy(std::uint32_t address, const void* from, unsigned bytes,
                            const Actor& actor) {
  end_copy(address, from, bytes, {.stored = true, .written = actor.now()});
}

void SharedMemory::make_barrier(std::uint32_t address, unsigned arrivals, std::uint32_t agent,
                                const Actor& actor) {
  const std::size_t offset = offset_of(address, kBarrierBytes);
  for_words(offset, kBarrierBytes, Use::kPlain, false, [&](Word& word) {
    before_write(offset, word, actor);
    word.use = Use::kBarrier;
  });
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
