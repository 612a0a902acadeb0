#include "tools/gpu_harness/timing/graph_timer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "tools/gpu_harness/device/cuda_graph.h"
#include "tools/gpu_harness/timing/median.h"

namespace heddle {
namespace {

constexpr int kLeastWarmups = 2;

void rest_for(double us) {
  if (us > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
}

double replay_us(const OwnedGraph& graph, const OwnedStream& stream, const OwnedEvent& start,
                 const OwnedEvent& end) {
  start.record(stream);
  graph.replay(stream);
  end.record(stream);
  cuda::check(cuda::driver().cuEventSynchronize(end.get()), "cuEventSynchronize");
  float milliseconds = 0;
  cuda::check(cuda::driver().cuEventElapsedTime(&milliseconds, start.get(), end.get()),
              "cuEventElapsedTime");
  return 1e3 * static_cast<double>(milliseconds);
}

// A process's first kernels need longer: 28672 x 8192 with M = 1 took 31.9 us as the first one and
// 29.6 later.
double warm_up_us(const TimingBudget& budget) {
  constexpr double kFirstUs = 300000;
  static std::atomic<bool> is_first{true};
  return is_first.exchange(false) ? kFirstUs : budget.warm_up_us;
}

// What surrounds the measured replays.
struct Measuring {
  double warm_up_us = 0;
  double rest = 0;           // as in TimingBudget
  SmClock* clock = nullptr;  // of them
};

double median_us_per_launch(const OwnedGraph& graph, const OwnedStream& stream, int launches,
                            int replays, const Measuring& measuring) {
  const OwnedEvent start;
  const OwnedEvent end;
  double warmed_us = 0;
  for (int i = 0; i < kLeastWarmups || warmed_us < measuring.warm_up_us; ++i) {
    warmed_us += replay_us(graph, stream, start, end);
  }
  rest_for(measuring.rest * warmed_us);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(replays));
  if (measuring.clock != nullptr) measuring.clock->start();
  for (int i = 0; i < replays; ++i) {
    times.push_back(replay_us(graph, stream, start, end));
    rest_for(measuring.rest * times.back());
  }
  if (measuring.clock != nullptr) measuring.clock->stop();
  return median(std::move(times)) / launches;
}

}  // namespace

double time_in_graph(const OwnedStream& stream, int launches, int replays,
                     const std::function<void(int)>& launch) {
  return median_us_per_launch(OwnedGraph(stream, launches, launch), stream, launches, replays, {});
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
                     const std::function<void(int)>& launch, SmClock* clock) {
  const OwnedGraph one_round(stream, round, launch);
  const double pilot_us =
      median_us_per_launch(one_round, stream, round, 1, {warm_up_us(budget), budget.rest});
  const ReplayPlan plan = plan_replays(round, pilot_us, budget);
  const Measuring measuring{0, budget.rest, clock};
  if (plan.launches == round) {
    return median_us_per_launch(one_round, stream, round, plan.replays, measuring);
  }
  return median_us_per_launch(OwnedGraph(stream, plan.launches, launch), stream, plan.launches,
                              plan.replays, measuring);
}

struct TimedGraph::State {
  State(const OwnedStream& on, const TimedRound& round, const TimingBudget& budget)
      : stream(on), rest(budget.rest) {
    const OwnedGraph one_round(stream, round.round, round.launch);
    const double pilot_us =
        median_us_per_launch(one_round, stream, round.round, 1, {warm_up_us(budget), budget.rest});
    plan = plan_replays(round.round, pilot_us, budget);
    graph = std::make_unique<OwnedGraph>(stream, plan.launches, round.launch);
  }

  const OwnedStream& stream;
  double rest;
  OwnedEvent start;
  OwnedEvent end;
  ReplayPlan plan;
  std::unique_ptr<OwnedGraph> graph;
};

TimedGraph::TimedGraph(const OwnedStream& stream, const TimedRound& round,
                       const TimingBudget& budget)
    : state_(std::make_unique<State>(stream, round, budget)) {}
TimedGraph::~TimedGraph() = default;
TimedGraph::TimedGraph(TimedGraph&& other) noexcept = default;
TimedGraph& TimedGraph::operator=(TimedGraph&& other) noexcept = default;

double TimedGraph::replay_us() const {
  const double us = heddle::replay_us(*state_->graph, state_->stream, state_->start, state_->end);
  rest_for(state_->rest * us);
  return us / state_->plan.launches;
}

int TimedGraph::replays() const noexcept { return state_->plan.replays; }

std::pair<double, double> time_in_turns(const OwnedStream& stream, const TimedRound& one,
                                        const TimedRound& other, const TimingBudget& budget,
                                        SmClock* clock) {
  const TimedGraph graphs[] = {{stream, one, budget}, {stream, other, budget}};
  std::vector<double> times[2];
  const int replays = std::max(graphs[0].replays(), graphs[1].replays());
  for (int replay = 0; replay < kLeastWarmups + replays; ++replay) {
    if (clock != nullptr && replay == kLeastWarmups) clock->start();
    for (int i = 0; i < 2; ++i) {
      const double us = graphs[i].replay_us();
      if (replay >= kLeastWarmups) times[i].push_back(us);
    }
  }
  if (clock != nullptr) clock->stop();
  return {median(std::move(times[0])), median(std::move(times[1]))};
}

}  // namespace heddle
