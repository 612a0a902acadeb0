#include "tests/emulator/global_races.h"

#include <fmt/core.h>

#include <algorithm>

#include "tests/emulator/device.h"

namespace emulator {
namespace {

// Bytes that share one record of their accesses.
constexpr std::uintptr_t kTrackedBytes = 1;

void before_read(const Stamp& written, const Actor& actor) {
  if (actor.clock.knows(written)) return;
  fail(fmt::format("an access to global memory is not ordered after the last write, by agent {}",
                   written.agent));
}

}  // namespace

template <class Act>
void GlobalRaces::each_word(const void* pointer, unsigned bytes, const Act& act) {
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  for (std::uintptr_t word = begin / kTrackedBytes; word * kTrackedBytes < begin + bytes; ++word)
    act(words_[word]);
}

void GlobalRaces::load(const void* pointer, unsigned bytes, const Actor& actor) {
  each_word(pointer, bytes, [&](Word& word) {
    before_read(word.written, actor);
    const auto mine = std::find_if(word.read.begin(), word.read.end(),
                                   [&](const Stamp& stamp) { return stamp.agent == actor.agent; });
    if (mine == word.read.end()) {
      word.read.push_back(actor.now());
    } else {
      *mine = actor.now();
    }
  });
}

void GlobalRaces::store(const void* pointer, unsigned bytes, const Actor& actor) {
  each_word(pointer, bytes, [&](Word& word) {
    if (word.atomic && word.by != actor.agent) {
      fail(fmt::format("a store to a word of global memory that agent {} uses with atomics",
                       word.by));
    }
    before_read(word.written, actor);
    for (const Stamp& stamp : word.read) {
      if (actor.clock.knows(stamp)) continue;
      fail(fmt::format("a write to global memory is not ordered after a read, by agent {}",
                       stamp.agent));
    }
    word.written = actor.now();
    word.read.clear();
  });
}

Clock& GlobalRaces::atomic(const void* pointer, const Actor& actor) {
  Word& word = words_[reinterpret_cast<std::uintptr_t>(pointer) / kTrackedBytes];
  before_read(word.written, actor);
  word.atomic = true;
  word.by = actor.agent;
  return word.told;
}

}  // namespace emulator
