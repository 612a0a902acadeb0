#include "tools/gpu_harness/graph_timer.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace heddle {
namespace {

constexpr int kLeastWarmups = 2;

class Event {
 public:
  Event() { cuda::check(cuda::driver().cuEventCreate(&event_, 0), "cuEventCreate"); }
  ~Event() { cuda::try_driver(nullptr)->cuEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cuda::CUevent get() const { return event_; }
  void record(const OwnedStream& stream) const {
    cuda::check(cuda::driver().cuEventRecord(event_, stream.get()), "cuEventRecord");
  }

 private:
  cuda::CUevent event_ = nullptr;
};

class Graph {
 public:
  Graph(const OwnedStream& stream, int launches, const std::function<void(int)>& launch) {
    const cuda::Driver& cu = cuda::driver();
    cuda::check(cu.cuStreamBeginCapture(stream.get(), cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                "cuStreamBeginCapture");
    cuda::CUgraph graph = nullptr;
    try {
      for (int i = 0; i < launches; ++i) launch(i);
    } catch (...) {
      cu.cuStreamEndCapture(stream.get(), &graph);
      if (graph != nullptr) cu.cuGraphDestroy(graph);
      throw;
    }
    cuda::check(cu.cuStreamEndCapture(stream.get(), &graph), "cuStreamEndCapture");
    const cuda::CUresult result = cu.cuGraphInstantiateWithFlags(&exec_, graph, 0);
    cu.cuGraphDestroy(graph);
    cuda::check(result, "cuGraphInstantiateWithFlags");
  }
  ~Graph() { cuda::try_driver(nullptr)->cuGraphExecDestroy(exec_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void replay(const OwnedStream& stream) const {
    cuda::check(cuda::driver().cuGraphLaunch(exec_, stream.get()), "cuGraphLaunch");
  }

 private:
  cuda::CUgraphExec exec_ = nullptr;
};

double replay_us(const Graph& graph, const OwnedStream& stream, const Event& start,
                 const Event& end) {
  start.record(stream);
  graph.replay(stream);
  end.record(stream);
  cuda::check(cuda::driver().cuEventSynchronize(end.get()), "cuEventSynchronize");
  float milliseconds = 0;
  cuda::check(cuda::driver().cuEventElapsedTime(&milliseconds, start.get(), end.get()),
              "cuEventElapsedTime");
  return 1e3 * static_cast<double>(milliseconds);
}

double median_us_per_launch(const Graph& graph, const OwnedStream& stream, int launches,
                            int replays, double warm_up_us) {
  const Event start;
  const Event end;
  double warmed_us = 0;
  for (int i = 0; i < kLeastWarmups || warmed_us < warm_up_us; ++i) {
    warmed_us += replay_us(graph, stream, start, end);
  }
  std::vector<double> times;
  for (int i = 0; i < replays; ++i) times.push_back(replay_us(graph, stream, start, end));
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2] / launches;
}

}  // namespace

double time_in_graph(const OwnedStream& stream, int launches, int replays,
                     const std::function<void(int)>& launch) {
  return median_us_per_launch(Graph(stream, launches, launch), stream, launches, replays, 0);
}

ReplayPlan plan_replays(int round, double launch_us, const TimingBudget& budget) {
  constexpr double kLeastReplays = 5;
  constexpr double kMostReplays = 21;
  const double round_us = round * launch_us;
  const double rounds = std::max(1.0, std::ceil(budget.graph_us / round_us));
  const double replays =
      std::clamp(std::floor(budget.total_us / (rounds * round_us)), kLeastReplays, kMostReplays);
  return {round * static_cast<int>(rounds), static_cast<int>(replays)};
}

double time_in_graph(const OwnedStream& stream, int round, const TimingBudget& budget,
                     const std::function<void(int)>& launch) {
  const Graph one_round(stream, round, launch);
  const double pilot_us = median_us_per_launch(one_round, stream, round, 1, budget.warm_up_us);
  const ReplayPlan plan = plan_replays(round, pilot_us, budget);
  if (plan.launches == round) {
    return median_us_per_launch(one_round, stream, round, plan.replays, 0);
  }
  return time_in_graph(stream, plan.launches, plan.replays, launch);
}

}  // namespace heddle
