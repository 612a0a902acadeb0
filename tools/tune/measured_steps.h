// MeasuredSteps: the times of one gemm's kernels at its steps of M, and the ranges that follow.
#ifndef HEDDLE_TOOLS_TUNE_MEASURED_STEPS_H_
#define HEDDLE_TOOLS_TUNE_MEASURED_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/families/gemm_family.h"

namespace heddle {

struct MeasuredKernel {
  std::size_t handle = 0;  // the device's
  std::string family;
  int version = 1;
  std::string label;
};

// A kernel by its own step and its place among those of the step.
struct KernelPlace {
  std::size_t own = 0;
  std::size_t kernel = 0;
  bool operator==(const KernelPlace&) const = default;
};

struct MeasuredRange {
  MRange m;
  MeasuredKernel kernel;
  double us = 0;  // of a launch with m.max tokens
};

class MeasuredSteps {
 public:
  // Consecutive ranges of M, ascending; a step's kernels are measured with its last M.
  explicit MeasuredSteps(std::vector<MRange> steps);

  const std::vector<MRange>& steps() const noexcept { return steps_; }
  // A kernel whose largest M is that of the step, with its time there.
  void add(std::size_t step, MeasuredKernel kernel, double us);
  bool is_measured(std::size_t step) const { return !kernels_[step].empty(); }
  // The fastest of the kernels whose own step this is. Precondition: the step is measured.
  KernelPlace best_at(std::size_t step) const;
  const MeasuredKernel& kernel(const KernelPlace& place) const;
  double own_us(const KernelPlace& place) const;

  // Kernels of later steps that may serve this one, too, as far as is known: at every step from
  // here to their own they take at most kSameTime times the best. At most kMostAsked of them, those
  // first that would save the most kernels. To be asked for from the last step down.
  std::vector<KernelPlace> may_serve(std::size_t step) const;
  static constexpr std::size_t kMostAsked = 8;
  // The answer. Precondition: it came from may_serve(step).
  void set_time(const KernelPlace& place, std::size_t step, double us);

  // Ranges that cover each measured step once: neighbours that one kernel serves in at most
  // kSameTime times their best times are one range (best_ranges()).
  std::vector<MeasuredRange> ranges() const;

 private:
  struct Timed {
    MeasuredKernel kernel;
    std::vector<double> us;  // at its own step, the one before it, and so on, as far as measured
  };
  class Segment;
  std::optional<double> us_at(const KernelPlace& place, std::size_t step) const;
  double best_us(std::size_t step) const;
  bool serves_until(const KernelPlace& place, std::size_t step) const;

  std::vector<MRange> steps_;
  std::vector<std::vector<Timed>> kernels_;  // of each step
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_MEASURED_STEPS_H_
