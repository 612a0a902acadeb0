// Times launches by replaying them from a CUDA graph.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_TIMING_GRAPH_TIMER_H_
#define HEDDLE_TOOLS_GPU_HARNESS_TIMING_GRAPH_TIMER_H_

#include <functional>
#include <memory>
#include <utility>

#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/timing/sm_clock.h"

namespace heddle {

// Captures launch(0) ... launch(launches - 1), which must enqueue on `stream` only, replays the
// graph `replays` times after two for warming up, and returns the median microseconds per launch.
// Needs a current context. Throws Error(kDriver), and what `launch` throws.
double time_in_graph(const OwnedStream& stream, int launches, int replays,
                     const std::function<void(int)>& launch);

// How long to measure.
struct TimingBudget {
  double graph_us = 2000;   // one replay takes at least so long, so that its start weighs little
  double total_us = 50000;  // and all of them about so long
  // Replays before that, unmeasured: a GPU that was idle takes its time to reach its clock.
  double warm_up_us = 30000;
  // After each replay, and after those for warming up, the GPU is left idle for so many times their
  // duration: else it measures at its limit of power, at a lower clock.
  double rest = 0;
};

struct ReplayPlan {
  int launches = 0;  // in the graph: whole rounds
  int replays = 0;   // 5 to 21
};

// For rounds of `round` launches that take `launch_us` each.
ReplayPlan plan_replays(int round, double launch_us, const TimingBudget& budget);

// As time_in_graph() above, with as many rounds of `round` launches and replays as plan_replays()
// says; a graph of one round warms up and tells it how long a launch takes. `clock`, if any, is
// started and stopped around the measured replays.
double time_in_graph(const OwnedStream& stream, int round, const TimingBudget& budget,
                     const std::function<void(int)>& launch, SmClock* clock = nullptr);

// A round of launches.
struct TimedRound {
  int round = 1;
  std::function<void(int)> launch;
};

// A captured graph of whole rounds that takes about TimingBudget::graph_us, to be replayed in turn
// with others'. The constructor warms up. Needs a current context; the stream must outlive it.
class TimedGraph {
 public:
  TimedGraph(const OwnedStream& stream, const TimedRound& round, const TimingBudget& budget);
  ~TimedGraph();
  TimedGraph(TimedGraph&& other) noexcept;
  TimedGraph& operator=(TimedGraph&& other) noexcept;

  // Microseconds per launch of one replay; leaves the GPU idle afterwards as the budget says.
  double replay_us() const;
  // How many replays the budget has time for.
  int replays() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// As above, of two kernels whose replays take turns: a GPU that holds a limit of power changes its
// clock from one tenth of a second to the next, and both are to have seen the same ones.
std::pair<double, double> time_in_turns(const OwnedStream& stream, const TimedRound& one,
                                        const TimedRound& other, const TimingBudget& budget,
                                        SmClock* clock = nullptr);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_TIMING_GRAPH_TIMER_H_
