// TimeShares: a budget of wall time that is shared out equally among what is left to do.
#ifndef HEDDLE_TOOLS_TUNE_TIME_SHARES_H_
#define HEDDLE_TOOLS_TUNE_TIME_SHARES_H_

#include <algorithm>
#include <cstddef>

namespace heddle {

// Times are in seconds, on any clock that goes forward.
class TimeShares {
 public:
  TimeShares(double start, double budget, std::size_t shares)
      : end_(start + budget), left_(shares) {}

  bool is_spent(double now) const noexcept { return now >= end_; }
  // When the next share, or so many of them together, ends: what earlier ones left over, or took
  // too much of, is shared by all that are left. Precondition: so many are left.
  double next_deadline(double now, std::size_t shares = 1) noexcept {
    const double part = static_cast<double>(shares) / static_cast<double>(left_);
    left_ -= shares;
    return now + part * std::max(0.0, end_ - now);
  }

 private:
  double end_;
  std::size_t left_;
};

// How many kernels to compile in some time, from how long those before took.
class KernelRate {
 public:
  void add(std::size_t kernels, double seconds) noexcept {
    kernels_ += static_cast<double>(kernels);
    seconds_ += seconds;
  }
  // At least two, so that there is something to compare, but never more than `most`.
  std::size_t kernels_in(double seconds, std::size_t most) const noexcept {
    constexpr double kFewestCompiled = 2;
    const double fits = std::max(kFewestCompiled, seconds * kernels_ / seconds_);
    return fits >= static_cast<double>(most) ? most : static_cast<std::size_t>(fits);
  }

 private:
  // A first guess, which soon weighs little: eight cores compile a kernel a second each.
  double kernels_ = 8;
  double seconds_ = 1;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_TIME_SHARES_H_
