// Vector clocks: what a thread can rely on to have happened, whatever the interleaving.
#ifndef HEDDLE_TESTS_EMULATOR_CLOCK_H_
#define HEDDLE_TESTS_EMULATOR_CLOCK_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace emulator {

// An access: by whom and when. Agents are the threads of a cluster, and behind them its mbarriers,
// whose time is the number of phases that have ended: bytes that a copy brought have been written
// when the phase that counted them in ended. Time 0: never.
struct Stamp {
  std::uint32_t agent = 0;
  std::uint32_t time = 0;
};

// For every agent the time up to which its accesses happened before.
class Clock {
 public:
  std::uint32_t of(std::size_t agent) const { return agent < times_.size() ? times_[agent] : 0; }
  bool knows(const Stamp& stamp) const { return stamp.time <= of(stamp.agent); }
  void set(std::size_t agent, std::uint32_t time) {
    if (agent >= times_.size()) times_.resize(agent + 1);
    times_[agent] = time;
  }
  // `first`: the other knows of no agent before.
  void join(const Clock& other, std::size_t first = 0) {
    if (other.times_.size() > times_.size()) times_.resize(other.times_.size());
    for (std::size_t i = first; i < other.times_.size(); ++i) {
      times_[i] = std::max(times_[i], other.times_[i]);
    }
  }

 private:
  std::vector<std::uint32_t> times_;
};

// A thread, and what it knows.
struct Actor {
  std::uint32_t agent = 0;
  Clock clock;

  Stamp now() const { return {agent, clock.of(agent)}; }
  // What it did so far is known to who takes over its clock; what it does from now on is not.
  void advance() { clock.set(agent, clock.of(agent) + 1); }
};

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_CLOCK_H_
