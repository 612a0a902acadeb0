#include "tools/tune/measured_steps.h"

#include <algorithm>
#include <utility>

#include "generator/planner/ranges.h"

namespace heddle {

// Neighbouring steps that are all measured.
class MeasuredSteps::Segment final : public StepTimes {
 public:
  Segment(const MeasuredSteps& all, std::size_t first, std::size_t count)
      : all_(all), first_(first), count_(count) {}

  std::size_t steps() const override { return count_; }
  std::int64_t size(std::size_t step) const override { return all_.steps_[first_ + step].max; }
  std::size_t kernels(std::size_t step) const override {
    return all_.kernels_[first_ + step].size();
  }
  double best_us(std::size_t step) const override { return all_.best_us(first_ + step); }
  std::optional<double> us(std::size_t own, std::size_t kernel, std::size_t step) const override {
    return all_.us_at({first_ + own, kernel}, first_ + step);
  }

 private:
  const MeasuredSteps& all_;
  std::size_t first_;
  std::size_t count_;
};

MeasuredSteps::MeasuredSteps(std::vector<MRange> steps)
    : steps_(std::move(steps)), kernels_(steps_.size()) {}

void MeasuredSteps::add(std::size_t step, MeasuredKernel kernel, double us) {
  kernels_[step].push_back({std::move(kernel), {us}});
}

KernelPlace MeasuredSteps::best_at(std::size_t step) const {
  const std::vector<Timed>& all = kernels_[step];
  const auto best = std::min_element(all.begin(), all.end(), [](const Timed& a, const Timed& b) {
    return a.us.front() < b.us.front();
  });
  return {step, static_cast<std::size_t>(best - all.begin())};
}

const MeasuredKernel& MeasuredSteps::kernel(const KernelPlace& place) const {
  return kernels_[place.own][place.kernel].kernel;
}

double MeasuredSteps::own_us(const KernelPlace& place) const {
  return kernels_[place.own][place.kernel].us.front();
}

std::optional<double> MeasuredSteps::us_at(const KernelPlace& place, std::size_t step) const {
  const std::vector<double>& us = kernels_[place.own][place.kernel].us;
  const std::size_t before = place.own - step;
  if (before >= us.size()) return std::nullopt;
  return us[before];
}

double MeasuredSteps::best_us(std::size_t step) const { return own_us(best_at(step)); }

bool MeasuredSteps::serves_until(const KernelPlace& place, std::size_t step) const {
  for (std::size_t i = step; i <= place.own; ++i) {
    const std::optional<double> us = us_at(place, i);
    if (!us || *us > kSameTime * best_us(i)) return false;
  }
  return true;
}

std::vector<KernelPlace> MeasuredSteps::may_serve(std::size_t step) const {
  std::vector<KernelPlace> places;
  if (!is_measured(step)) return places;
  for (std::size_t own = steps_.size(); own-- > step + 1;) {
    for (std::size_t i = 0; i < kernels_[own].size(); ++i) {
      const KernelPlace place{own, i};
      if (places.size() < kMostAsked && serves_until(place, step + 1) && !us_at(place, step)) {
        places.push_back(place);
      }
    }
  }
  return places;
}

void MeasuredSteps::set_time(const KernelPlace& place, std::size_t /*step*/, double us) {
  kernels_[place.own][place.kernel].us.push_back(us);
}

std::vector<MeasuredRange> MeasuredSteps::ranges() const {
  std::vector<MeasuredRange> ranges;
  for (std::size_t first = 0; first < steps_.size();) {
    std::size_t end = first;
    while (end < steps_.size() && is_measured(end)) ++end;
    for (const StepRange& one : best_ranges(Segment(*this, first, end - first), end - first)) {
      const KernelPlace place{first + one.last, one.kernel};
      ranges.push_back(
          {{steps_[first + one.first].min, steps_[place.own].max}, kernel(place), own_us(place)});
    }
    first = end + 1;
  }
  return ranges;
}

}  // namespace heddle
