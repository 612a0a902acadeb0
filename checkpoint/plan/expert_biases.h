// ExpertBiases: the biases of one product of all experts, as a launch of a moe takes them.
#ifndef HEDDLE_CHECKPOINT_PLAN_EXPERT_BIASES_H_
#define HEDDLE_CHECKPOINT_PLAN_EXPERT_BIASES_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/modules/layer_names.h"
#include "checkpoint/plan/made_tensor.h"
#include "checkpoint/plan/read_group.h"
#include "heddle/spec.h"

namespace heddle {

class ExpertBiases {
 public:
  // Of the next expert. Throws Error(kUnsupported, "checkpoint.layer") for vectors that do not fit.
  // The checkpoint outlives what is made.
  void add(const Checkpoint& checkpoint, const LayerGroup& group, const ViewedParts& viewed);

  // Refuses as add() where an expert lacks the bias of a module that others have, or that all have
  // by the model type (`expected`). After the last expert.
  void check_complete(const std::string& product, bool expected) const;
  // Of a first product: rows of each expert in the order of the columns of its second one; an empty
  // order leaves them. Throws as ordered_rows().
  void order_rows(const std::vector<std::vector<std::int32_t>>& orders);
  // Whether any value is not zero. Quantisers write zeros for modules without a bias.
  bool any() const noexcept { return any_; }
  // The checkpoint's own, zeros among them.
  const std::set<std::string>& tensors() const noexcept { return tensors_; }
  // [count, rows] of `dtype`, 16 bits, rounded once, of the experts from `first` on; zeros for
  // parts without a bias. Making it throws Error(kUnsupported, "checkpoint.layer") for values
  // beyond the type's range.
  MadeTensor made(const std::string& product, DType dtype, std::int64_t first,
                  std::int64_t count) const;

 private:
  using Selections = std::vector<std::vector<RowRun>>;
  struct Part {
    Checkpoint::Entry entry{};  // null: zeros
    TensorInfo tensor;          // the entry's, or of a stack one row
    std::shared_ptr<const Selections> selections;
    std::int64_t rows = 0;
  };
  // Of one part of all experts: the first bias that is missing, and the first that is not zero.
  struct Presence {
    std::string missing;
    std::string present;
  };

  // As those of the last expert where they are equal: they may be large.
  std::shared_ptr<const Selections> selections_of(std::size_t part,
                                                  const Selections& selections) const;

  std::vector<std::vector<Part>> experts_;
  std::vector<Presence> presence_;
  std::set<std::string> tensors_;
  bool any_ = false;
};

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_EXPERT_BIASES_H_
