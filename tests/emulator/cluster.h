// The blocks of one cluster, or of all of them, as fibers, and which of them runs next. machine.h
// says what is drawn.
#ifndef HEDDLE_TESTS_EMULATOR_CLUSTER_H_
#define HEDDLE_TESTS_EMULATOR_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/emulator/async_copies.h"
#include "tests/emulator/clock.h"
#include "tests/emulator/fibers.h"
#include "tests/emulator/global_races.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/multiplications.h"
#include "tests/emulator/shared_memory.h"

namespace emulator {

inline constexpr unsigned kLanes = 32;

struct Thread {
  unsigned block = 0;  // counted from the first that runs
  unsigned index = 0;  // in the block
  Actor actor;
  Clock released;  // what it knew at the last fence, its own or one that a barrier tells it of
  Clock seen;      // what atomics have told it, which it knows after its next fence
  AsyncCopies copies;
  const char* waits_for = nullptr;  // null: it can run
  std::uint32_t barrier = 0;        // that it waits for, and for the end of which phase
  unsigned parity = 0;
  bool done = false;
  bool predecessor_has_ended = false;
  unsigned cluster_phases = 0;  // of the cluster's barrier, at which it has arrived
};

// The barrier of a cluster, at which threads arrive and wait apart from each other.
struct ClusterBarrier {
  explicit ClusterBarrier(std::size_t threads) : running(threads), missing(threads) {}
  std::size_t running;  // threads that have not ended
  std::size_t missing;  // those of them that have not arrived
  unsigned phases = 0;  // that have ended
  bool has(const Thread& thread) const { return thread.cluster_phases > phases; }  // now
  // What those who have arrived knew then, and those of the phase before.
  Clock arrived, arrived_released;
  Clock ended, ended_released;
};

struct Warp {
  std::vector<unsigned> ready;  // lanes that can run
  double priority = 0;
  unsigned lane_order = 0;  // lanes by their number ^ this
  unsigned elected = 0;
  // The instruction at which lanes wait for the others.
  const char* together = nullptr;
  unsigned arrived = 0;
  void* arguments[kLanes] = {};
  Multiplications multiplications[kLanes];  // a lane's part of those that are on their way
};

struct Block {
  explicit Block(std::size_t shared_bytes) : shared(shared_bytes) {}
  SharedMemory shared;
  unsigned running = 0;  // threads
  unsigned at_barrier = 0;
  // Where the first of them has called it.
  const char* barrier_file = nullptr;
  int barrier_line = 0;
  // Threads at the barriers with numbers.
  std::map<int, std::vector<std::size_t>> at_numbered;
};

// What happens some time later.
struct Pending {
  unsigned block = 0;  // where
  std::uint32_t barrier = 0;
  std::uint32_t address = 0;
  unsigned bytes = 0;                  // 0: an arrival
  const void* from = nullptr;          // global memory; null: `data`
  std::vector<std::uint8_t> box = {};  // of a tensor copy: `from` is null
  std::uint32_t data[4] = {};
  std::size_t thread = 0;  // whose it is
  Clock clock;             // of an arrival
  bool relaxed = false;    // an arrival that marks no part of another block's
};

class Cluster {
 public:
  Cluster(const Launch& launch, const GlobalMemory& memory, int first_block,
          const std::function<void()>& kernel);
  // Runs all threads to their end. Throws Error.
  void run();

  const Launch& launch() const { return launch_; }
  const GlobalMemory& memory() const { return memory_; }
  GlobalRaces& global_races() { return global_races_; }

  // State of the running fiber.
  Thread& self() { return threads_[current_]; }
  Warp& warp() { return warps_[current_ / kLanes]; }
  Block& block() { return blocks_[self().block]; }
  // The first block of the fiber's cluster.
  unsigned first_of_cluster() const;
  Thread& thread_of_lane(unsigned lane) { return threads_[current_ / kLanes * kLanes + lane]; }
  // Fails where there is none that still runs.
  Block& block(unsigned rank);

  // Threads, numbered through all blocks.
  struct Range {
    std::size_t first, count;
  };
  Range warp_threads() const { return {current_ / kLanes * kLanes, kLanes}; }
  Range block_threads();

  // Waits for the others of the range, of which `arrived` have come before; the last wakes them up.
  // `orders`: what each has done is known to all. `act`: what the last one does.
  void meet(const char* what, unsigned& arrived, Range range, bool orders,
            const std::function<void()>& act = {});
  // A barrier for `threads` threads of the block, whichever come.
  void meet_at(int barrier, unsigned threads);
  // The barrier, in two parts, of the cluster's threads that have not ended.
  void arrive_at_cluster();
  void wait_for_cluster();
  // Lets others run.
  void give_way();
  // Waits for the end of the barrier's phase of that parity.
  void wait_for_phase(std::uint32_t barrier, unsigned parity);

  std::uint32_t new_barrier_agent() { return next_agent_++; }
  // Arrivals or bytes; `clock`: of who arrives.
  void count_in(unsigned block, Mbarrier& barrier, std::uint32_t address, unsigned arrivals,
                std::int64_t bytes, bool remote, const Clock* clock);
  void later(Pending pending);
  // The fiber's arrivals at other blocks, which a barrier orders before what follows it. Copies are
  // not: an mbarrier alone tells when they have ended.
  void finish_arrivals();

  [[noreturn]] void fail(const std::string& what);

 private:
  // How a run draws what comes next.
  struct Style {
    double pending;       // how often something that is pending happens
    bool uniform;         // any warp, or the one of the highest priority
    bool any_lane;        // of a warp, or the first in an order, which leaves some behind
    double new_priority;  // how often both change
  };
  static Style draw_style(std::mt19937& random);
  void draw(Warp& warp);
  bool chance(double probability) { return random_() < probability * 4294967296.0; }
  std::size_t below(std::size_t n) { return random_() % n; }

  // The number of the next thread; false: none can run.
  bool pick(std::size_t& thread);
  void resume(std::size_t thread);
  void happen(std::size_t which);
  void end_meeting(const std::vector<std::size_t>& threads);
  ClusterBarrier& cluster_barrier();  // the fiber's
  void arrive(ClusterBarrier& barrier);
  void wait(const char* what);
  void wake(std::size_t thread);
  std::string who_waits() const;

  const Launch& launch_;
  const GlobalMemory& memory_;
  GlobalRaces global_races_;
  std::mt19937 random_;
  Style style_;
  std::vector<Block> blocks_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<std::size_t> ready_;  // warps with a lane that can run; for pick() alone
  std::vector<Pending> pending_;
  std::size_t current_ = 0;
  std::size_t running_;
  std::vector<ClusterBarrier> cluster_barriers_;
  std::uint32_t next_agent_;
  int first_block_;
  bool inside_ = false;  // of a fiber
  std::string failure_;
  Fibers fibers_;
};

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_CLUSTER_H_
