#include "tools/tune/race.h"

#include <algorithm>

#include "generator/planner/ranges.h"

namespace heddle {
namespace {

// Kernels this close in time count as the same (kSameTime), so an error of a tenth of that is no
// longer worth a round.
constexpr double kSmallError = (kSameTime - 1) / 10;
constexpr std::size_t kFewestKept = 3;  // when the field is halved

}  // namespace

Race::Race(std::size_t runners) : runners_(runners) {}

std::vector<std::size_t> Race::next_round() const {
  std::vector<std::size_t> next;
  if (rounds_ >= kMostRounds || (rounds_ >= kFewestRounds && is_settled())) return next;
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    if (runners_[i].in) next.push_back(i);
  }
  return next;
}

void Race::record(std::size_t runner, double us) { runners_[runner].times.push_back(us); }

void Race::end_round() {
  ++rounds_;
  const std::vector<std::size_t> order = ranking();
  if (order.empty()) return;
  if (rounds_ == 2 || rounds_ == 4) keep(std::max(kFewestKept, (order.size() + 1) / 2));
  const MedianTime best = time(order.front());
  for (const std::size_t one : order) {
    const MedianTime own = time(one);
    if (own.us - own.error > kSameTime * (best.us + best.error)) runners_[one].in = false;
  }
}

bool Race::has_result() const {
  const std::vector<std::size_t> order = ranking();
  return !order.empty() && time(order.front()).times >= kFewestTimes;
}

std::vector<std::size_t> Race::ranking() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    if (runners_[i].in && !runners_[i].times.empty()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [this](std::size_t a, std::size_t b) { return time(a).us < time(b).us; });
  return order;
}

MedianTime Race::time(std::size_t runner) const { return median_time(runners_[runner].times); }

bool Race::is_settled() const {
  const std::vector<std::size_t> order = ranking();
  return std::all_of(order.begin(), order.end(), [this](std::size_t one) {
    const MedianTime own = time(one);
    return own.error <= kSmallError * own.us;
  });
}

// Whoever is within kSameTime of the best may be what saves a kernel.
void Race::keep(std::size_t most) {
  const std::vector<std::size_t> order = ranking();
  const double best = time(order.front()).us;
  for (std::size_t place = most; place < order.size(); ++place) {
    if (time(order[place]).us > kSameTime * best) runners_[order[place]].in = false;
  }
}

}  // namespace heddle
