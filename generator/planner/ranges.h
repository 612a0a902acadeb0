// Which kernels serve which steps of sizes, from their times at each step: predicted ones for a
// plan, measured ones for a tuned table.
#ifndef HEDDLE_GENERATOR_PLANNER_RANGES_H_
#define HEDDLE_GENERATOR_PLANNER_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heddle {

// Times this close count as the same.
inline constexpr double kSameTime = 1.03;
// A further kernel must save this much of the time of a step to be worth compiling.
inline constexpr double kKernelIsWorth = 1.02;
inline constexpr std::size_t kMostKernels = 12;  // of a plan

// A model spends most of its time on few tokens: one for each sequence that it answers. Up to this
// many, two tiles of the matrix instruction, no step may lose more than kSameTime. All lengths of
// sequences are more.
inline constexpr std::int64_t kFewTokens = 16;
// The loss of a step of more tokens counts this much. tools/bench-plans measures what plans lose.
inline constexpr double kWeightOfMany = 0.25;

// Consecutive steps of sizes and the kernels that end with each: a kernel serves its own step and
// those before it.
class StepTimes {
 public:
  virtual ~StepTimes() = default;
  virtual std::size_t steps() const = 0;
  // The largest size of the step.
  virtual std::int64_t size(std::size_t step) const = 0;
  // The kernels whose own step this is. Precondition of best_ranges(): every step has one.
  virtual std::size_t kernels(std::size_t step) const = 0;
  // The shortest time, at the step, of the kernels whose own step this is: one of them always
  // serves.
  virtual double best_us(std::size_t step) const = 0;
  // The time of kernel `kernel` of step `own` at `step`, which is `own` or before it; nothing where
  // it may not serve, nor at any step before that. Every kernel may serve its own step.
  virtual std::optional<double> us(std::size_t own, std::size_t kernel, std::size_t step) const = 0;
  // How much of the time of a step a further kernel must save to be worth compiling.
  virtual double kernel_is_worth() const { return kKernelIsWorth; }
};

struct StepRange {
  std::size_t first = 0;   // step
  std::size_t last = 0;    // step, the kernel's own
  std::size_t kernel = 0;  // of that step
};

// Ranges that cover every step once, ascending. They serve each step of up to kFewTokens in at most
// kSameTime times its best time; each of more in the same, or in the lowest power of kSameTime with
// which they are at most `most`. Where no power makes them so few they are as many as they must be.
// They lose least of all such ranges: the sum of the logarithms of times over best times,
// weighted, and of kernel_is_worth() for each kernel.
std::vector<StepRange> best_ranges(const StepTimes& times, std::size_t most);

// The sum of the logarithms of the ranges' times, weighted, and of kernel_is_worth() for each
// kernel: of several StepTimes with the same steps the one with the least is the fastest.
double weighted_time(const StepTimes& times, const std::vector<StepRange>& ranges);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_RANGES_H_
