// OutputPlan: the tensors of a new file.
#ifndef HEDDLE_CHECKPOINT_OUTPUT_OUTPUT_PLAN_H_
#define HEDDLE_CHECKPOINT_OUTPUT_OUTPUT_PLAN_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/plan/layer_plan.h"
#include "checkpoint/plan/made_tensor.h"

namespace heddle {

class OutputPlan {
 public:
  // After each tensor, one call at a time, from any thread.
  using Progress =
      std::function<void(const std::string& tensor, std::size_t done, std::size_t total)>;

  // The tensors lie in the file in the order of the calls.
  void add(MadeTensor tensor) { tensors_.push_back(std::move(tensor)); }
  void set_metadata(std::map<std::string, std::string> metadata) {
    metadata_ = std::move(metadata);
  }

  // Writes the file. Throws Error(kFile, "checkpoint.collision") where two tensors have one name.
  // Returns its number of bytes of tensors.
  std::uint64_t write(const std::string& output, int jobs, const Progress& progress) const;

 private:
  std::vector<MadeTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Throws Error(kFile, "checkpoint.collision") for a name that two tensors have, or a tensor that is
// larger than a file can be.
[[noreturn]] void refuse_collision(const std::string& name);

// Throw Error(kUnsupported, "checkpoint.not_quantised"): there is nothing to convert, or to pack.
[[noreturn]] void refuse_plain_checkpoint();
[[noreturn]] void refuse_plain_checkpoint(const PackOptions& options);

// Before anything is written. Throws Error(kUsage, "checkpoint.output") where the output would take
// the place of what it is made from, Error(kUnsupported, "checkpoint.not_quantised") without a
// layer to convert.
void check_conversion(const Checkpoint& checkpoint, std::size_t layers, const std::string& output);

// The tensors that are not in `consumed`, ascending by name.
std::vector<MadeTensor> copies_of_others(const Checkpoint& checkpoint,
                                         const std::vector<std::string>& consumed);
// Adds them, widest elements first, so that all are aligned. Precondition: they ascend by name.
void add_copies(std::vector<MadeTensor> copies, OutputPlan* plan);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_OUTPUT_OUTPUT_PLAN_H_
