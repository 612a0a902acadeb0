// What the threads of all blocks that run together do with words of global memory that the kernel
// writes: whether barriers, and fences around atomics, order it.
#ifndef HEDDLE_TESTS_EMULATOR_GLOBAL_RACES_H_
#define HEDDLE_TESTS_EMULATOR_GLOBAL_RACES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/emulator/clock.h"

namespace emulator {

// Every function ends the run (see fail()) when an access is not ordered after those before it: of
// a read, the last write; of a write, the reads since then, too.
class GlobalRaces {
 public:
  void load(const void* pointer, unsigned bytes, const Actor& actor);
  // Not of a word whose last atomic operation was another thread's.
  void store(const void* pointer, unsigned bytes, const Actor& actor);
  // Atomics of one word are in the order in which they happen. What they tell each other: what each
  // thread knew at the last fence before.
  Clock& atomic(const void* pointer, const Actor& actor);

 private:
  // A byte: two threads write zero points of a byte each beside each other.
  struct Word {
    Stamp written;
    std::vector<Stamp> read;  // since then, each agent's last
    bool atomic = false;      // it is used by atomics, the last of them `by` this agent's
    std::uint32_t by = 0;
    Clock told;
  };

  template <class Act>
  void each_word(const void* pointer, unsigned bytes, const Act& act);

  std::unordered_map<std::uintptr_t, Word> words_;
};

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_GLOBAL_RACES_H_
