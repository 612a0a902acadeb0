// The shared memory of one block: bytes and mbarriers, and what is wrong to do with them.
#ifndef HEDDLE_TESTS_EMULATOR_SHARED_MEMORY_H_
#define HEDDLE_TESTS_EMULATOR_SHARED_MEMORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "tests/emulator/clock.h"

namespace emulator {

// A phase ends when no arrivals are pending and all expected bytes have come.
struct Mbarrier {
  unsigned arrivals = 0;  // of a phase
  unsigned pending = 0;
  std::int64_t bytes = 0;      // below zero where they come before they are expected
  std::uint32_t phases = 0;    // that have ended; the parity of the current one is its lowest bit
  bool remote = false;         // another block's threads have a part in the current phase
  bool remote_before = false;  // the same of the phase before
  std::uint32_t agent = 0;     // see Stamp
  Stamp made;                  // its initialisation
  bool fenced = false;         // which others than the thread that did it may rely on
  Clock arrived;               // of all who have arrived so far
  Clock ended;  // the same when the last phase ended: who has waited for it knows that

  unsigned parity() const { return phases & 1; }
};

// Every function ends the run (see fail()) when an access is not inside of the memory, not aligned
// to its size, or to bytes that a copy is writing or that are a barrier; and when it is not ordered
// after the accesses before: of a read, the last write; of a write, the reads since then, too.
class SharedMemory {
 public:
  // Address of the first byte; as on a GPU, it is not 0.
  static constexpr std::uint32_t kBegin = 1024;

  // Filled with 0xFF: NaN in every floating point type.
  explicit SharedMemory(std::size_t bytes);

  void load(std::uint32_t address, void* to, unsigned bytes, const Actor& actor);
  void store(std::uint32_t address, const void* from, unsigned bytes, const Actor& actor);
  // Atomic maximum of an unsigned word: not ordered among other threads' maxima of it.
  void max(std::uint32_t address, std::uint32_t value, const Actor& actor);
  void min(std::uint32_t address, std::uint32_t value, const Actor& actor);
  // The same of a sum. Not both of one word at a time.
  void add(std::uint32_t address, std::uint32_t value, const Actor& actor);

  // The bytes belong to an asynchronous copy from the one to the other. `bulk`: through the async
  // proxy, to which a thread's stores are not ordered.
  void begin_copy(std::uint32_t address, unsigned bytes, const Actor& actor, bool bulk);
  // Who waits for the barrier knows of it.
  void end_copy(std::uint32_t address, const void* from, unsigned bytes, const Mbarrier& barrier);
  // Ends a copy as if the thread had stored the bytes now.
  void end_copy(std::uint32_t address, const void* from, unsigned bytes, const Actor& actor);

  void make_barrier(std::uint32_t address, unsigned arrivals, std::uint32_t agent,
                    const Actor& actor);
  // Makes the barriers that the thread has initialised ready for others.
  void fence_barriers(const Actor& actor);
  // The barrier at an address, for a use by the thread or by a copy of its.
  Mbarrier& barrier(std::uint32_t address, const Actor& actor, bool by_copy = false);
  Mbarrier& barrier(std::uint32_t address);

 private:
  enum class Use : std::uint8_t { kPlain, kCopy, kBarrier };
  // 4 bytes. What few words have is elsewhere: one takes a line of the host's cache.
  struct alignas(64) Word {
    static constexpr std::uint32_t kMostReads = 6;

    Use use = Use::kPlain;
    bool stored = false;  // by a thread, not by a copy
    bool has_maxima = false;
    std::uint8_t reads = 0;
    std::uint32_t place = 0;  // of the other agents' reads in more_reads_; 0: there are none
    Stamp written;
    Stamp
        read[kMostReads]{};  // since then, the last of each of the first agents: so many as `reads`
  };
  // 16 bytes, which most accesses are of: while all of its words have met the same, the first one
  // stands for them.
  struct Unit {
    Word words[4];
    bool is_whole = true;
  };

  std::size_t offset_of(std::uint32_t address, unsigned bytes) const;
  // Calls act(word) for each word, once for all of a whole unit, and checks that it is in this use.
  // `alike`: words that act() has seen are all alike afterwards.
  template <typename Act>
  void for_words(std::size_t offset, unsigned bytes, Use use, bool alike, const Act& act);
  void split(Unit& unit);
  void before_write(std::size_t offset, const Word& word, const Actor& actor) const;
  void before_read(std::size_t offset, const Word& word, const Actor& actor) const;
  void change(std::uint32_t address, const Actor& actor,
              const std::function<std::uint32_t(std::uint32_t)>& changed);
  void check_maxima(std::size_t offset, const Word& word, const Actor& actor) const;
  void add_read(Word& word, const Actor& actor);
  // Nobody has read it, nor are there maxima.
  void forget(Word& word);
  void end_copy(std::uint32_t address, const void* from, unsigned bytes, const Word& as);

  std::vector<std::uint8_t> bytes_;
  std::vector<Unit> units_;
  std::vector<std::vector<Stamp>> more_reads_{1};  // each agent's last
  std::vector<std::uint32_t> free_places_;
  std::map<const Word*, std::vector<Stamp>> maxima_;  // since the last write
  std::map<std::uint32_t, Mbarrier> barriers_;
};

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_SHARED_MEMORY_H_
