// OutputPlan: the tensors of a new checkpoint and the work that makes each of them.
#ifndef HEDDLE_CHECKPOINT_OUTPUT_PLAN_H_
#define HEDDLE_CHECKPOINT_OUTPUT_PLAN_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"

namespace heddle {

class OutputPlan {
 public:
  // Writes all bytes of the tensors [first, ...) that were added with it.
  using Make = std::function<void(const SafetensorsWriter& writer, std::size_t first)>;

  // After each tensor, one call at a time, from any thread.
  using Progress =
      std::function<void(const std::string& tensor, std::size_t done, std::size_t total)>;

  // Tensors that one piece of work makes. They lie in the file in the order of the calls.
  void add(const std::string& label, std::vector<TensorInfo> tensors, Make make);
  // A tensor as it is. The checkpoint must outlive the plan.
  void copy(const Checkpoint::Entry& entry);
  void set_metadata(std::map<std::string, std::string> metadata) {
    metadata_ = std::move(metadata);
  }

  // Writes the file. Throws Error(kFile, "checkpoint.collision") where two tensors have one name.
  // Returns its number of bytes of tensors.
  std::uint64_t write(const std::string& output, int jobs, const Progress& progress) const;

 private:
  struct Item {
    std::string label;
    std::size_t first;  // tensor
    Make make;
  };

  std::vector<TensorInfo> tensors_;
  std::vector<Item> items_;
  std::map<std::string, std::string> metadata_;
};

// Throws Error(kUnsupported, "checkpoint.not_quantised"): there is nothing to convert.
[[noreturn]] void refuse_plain_checkpoint();

// Before anything is written. Throws Error(kUsage, "checkpoint.output") where the output would take
// the place of what it is made from, Error(kUnsupported, "checkpoint.not_quantised") without a
// layer to convert.
void check_conversion(const Checkpoint& checkpoint, std::size_t layers, const std::string& output);

// Copies everything that is not in `consumed`, widest elements first, so that all are aligned.
// Returns their number.
std::size_t copy_others(const Checkpoint& checkpoint, const std::vector<std::string>& consumed,
                        OutputPlan* plan);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_OUTPUT_PLAN_H_
