// TuneDevice and TuneHooks: what tuning needs of its surroundings.
#ifndef HEDDLE_TOOLS_TUNE_SURROUNDINGS_H_
#define HEDDLE_TOOLS_TUNE_SURROUNDINGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"

namespace heddle {

// What a device says of a kernel before its time counts.
struct Admission {
  std::size_t kernel = 0;  // its handle
  std::string fault;       // it does not compile, or its results are wrong; empty if it may run
};

// What tuning needs of a GPU. Each function may throw Error(kDriver), after which nothing more is
// asked.
class TuneDevice {
 public:
  virtual ~TuneDevice() = default;
  // Begins to compile these plans' kernels in the background and returns at once.
  virtual void compile(std::vector<Plan> plans) = 0;
  // What follows is of this gemm, with up to max_m tokens; handles of the one before are invalid.
  virtual void begin(const Plan& plan, std::int64_t max_m) = 0;
  // Waits for the kernel of a plan that compile() was told of, loads it and compares its results
  // for m tokens with the reference.
  virtual Admission admit(const Plan& plan, std::int64_t m) = 0;
  // Microseconds of a launch with m tokens, measured once.
  virtual double time_us(std::size_t kernel, std::int64_t m) = 0;
};

// The surroundings, so that tests can have their own.
struct TuneHooks {
  std::function<double()> seconds;    // a clock that goes forward
  std::function<bool()> interrupted;  // from then on nothing more is measured
  // What goes on, or the result of a step.
  std::function<void(const std::string& line, bool is_result)> show;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_SURROUNDINGS_H_
