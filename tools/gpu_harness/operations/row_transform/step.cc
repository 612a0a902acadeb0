// A norm or a gate in a decode step: each launch of a norm has weights of its own, and all change
// the residual stream.
#include <cmath>

#include "heddle/operations.h"
#include "tools/gpu_harness/step/step_part.h"

namespace heddle {
namespace {

struct NormStepWeights : StepWeights {
  DeviceBuffer vectors;
  std::size_t bytes = 0;  // of one
};

class RowTransformStep : public StepPart {
 public:
  StepNeeds needs(const Spec& spec, const StepLoad&) const override {
    const RowTransformSpec& rows = spec.row_transform();
    return {rows.x_columns(), rows.shape.columns, rows.input};
  }
  double bytes(const Spec& spec, const StepLoad& load) const override {
    const RowTransformSpec& rows = spec.row_transform();
    const std::int64_t columns = rows.shape.columns;
    const double vectors = (rows.norm.type == NormType::kNone ? 0 : 1) + (rows.norm.bias ? 1 : 0);
    const std::int64_t read = rows.x_columns() + (rows.residual ? 2 * columns : 0);
    return matrix_bytes(load.sequences, read + columns, rows.input) +
           vectors * matrix_bytes(1, columns, rows.input);
  }
  std::unique_ptr<StepWeights> weights(const Spec& spec, std::size_t launches, const HelperKernels&,
                                       const OwnedStream& stream) const override {
    const RowTransformSpec& rows = spec.row_transform();
    if (rows.norm.type == NormType::kNone) return nullptr;
    const std::int64_t columns = rows.shape.columns;
    auto made = std::make_unique<NormStepWeights>();
    made->vectors = norm_weights(columns, launches, 1 / std::sqrt(static_cast<double>(columns)),
                                 rows.norm.weight_offset, rows.input, stream);
    made->bytes = made->vectors.bytes() / launches;
    return made;
  }
  std::function<void()> launch(const StepPlace& place, const StepShared& shared,
                               const StepWeights* weights) const override {
    RowTransformArgs args;
    args.x = place.in.memory();
    args.y = place.out.memory();
    if (place.kernel.plan().spec.row_transform().residual) args.residual = shared.residual.memory();
    if (weights != nullptr) {
      const auto& own = static_cast<const NormStepWeights&>(*weights);
      args.weight = own.vectors.memory(place.turn * own.bytes, own.bytes);
    }
    args.m = shared.load.sequences;
    return [args, kernel = RowTransformKernel(place.kernel), &shared] {
      kernel.launch(args, shared.stream.get());
    };
  }
};

}  // namespace

const StepPart& row_transform_step() {
  static const RowTransformStep step;
  return step;
}

}  // namespace heddle
