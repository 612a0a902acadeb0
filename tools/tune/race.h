// Race: kernels that are timed in rounds, each round all of those that are still in it, so that all
// see the same clock of the GPU. Those that cannot win drop out.
#ifndef HEDDLE_TOOLS_TUNE_RACE_H_
#define HEDDLE_TOOLS_TUNE_RACE_H_

#include <cstddef>
#include <vector>

#include "tools/tune/median_time.h"

namespace heddle {

class Race {
 public:
  static constexpr std::size_t kMostRounds = 15;
  static constexpr std::size_t kFewestRounds = 5;  // before it may end early

  explicit Race(std::size_t runners);

  // Those whose times the next round takes, in order; none: the race is over.
  std::vector<std::size_t> next_round() const;
  void record(std::size_t runner, double us);
  // Ends the round: halves the field after the second and fourth round, but for those that may be
  // as fast as the best; drops who is clearly slower than the best.
  void end_round();

  std::size_t rounds() const noexcept { return rounds_; }
  // Whether there are enough times of those that are in it for an error to be known.
  bool has_result() const;
  // Those that are still in it, the fastest first.
  std::vector<std::size_t> ranking() const;
  // Precondition: it has run.
  MedianTime time(std::size_t runner) const;

 private:
  bool is_settled() const;
  void keep(std::size_t most);

  struct Runner {
    std::vector<double> times;
    bool in = true;
  };
  std::vector<Runner> runners_;
  std::size_t rounds_ = 0;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_RACE_H_
