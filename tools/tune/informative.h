// Which candidates tell the most about the cost parameters of their families.
#ifndef HEDDLE_TOOLS_TUNE_INFORMATIVE_H_
#define HEDDLE_TOOLS_TUNE_INFORMATIVE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "generator/planner/choose.h"
#include "tools/tune/values.h"

namespace heddle {

// Remembers what the kernels that it picked tell, so that the next ones tell something else. A
// kernel's time tells most about a parameter where its predicted time changes most with it: the
// greedy choice of a D-optimal design, with the slopes of log(predicted time).
class InformativeKernels {
 public:
  // `most` of the candidates for m, each family's fastest first; of those that are predicted to
  // take at most kSlowest times the fastest of their family, since what is never chosen need not be
  // predicted. Precondition: the candidates are all_candidates() of the plan, and `most` is at
  // least 1.
  std::vector<Candidate> pick(const Plan& plan, const std::vector<Candidate>& candidates,
                              std::int64_t m, std::size_t most);

  static constexpr double kSlowest = 2.5;

 private:
  // The covariance of the logarithms of a family's parameters, up to a factor.
  std::map<const Family*, Matrix> known_;
};

}  // namespace heddle

#endif  // HEDDLE_TOOLS_TUNE_INFORMATIVE_H_
