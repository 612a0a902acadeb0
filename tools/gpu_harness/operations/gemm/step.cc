// A gemm in a decode step: each launch has weights of its own.
#include "heddle/operations.h"
#include "tools/gpu_harness/operations/gemm/floor.h"
#include "tools/gpu_harness/operations/gemm/tensors.h"
#include "tools/gpu_harness/operations/gemm/weight_copies.h"
#include "tools/gpu_harness/step/step_part.h"

namespace heddle {
namespace {

struct GemmStepWeights : StepWeights {
  GemmStepWeights(const GemmSpec& spec, std::size_t launches, const HelperKernels& helpers,
                  const OwnedStream& stream)
      : tensors(make_gemm_tensors(spec, 1, kBenchSeed, helpers, stream)),
        packed(spec, helpers, stream, launches) {}

  GemmTensors tensors;
  WeightCopies packed;
};

class GemmStep : public StepPart {
 public:
  StepNeeds needs(const Spec& spec, const StepLoad&) const override {
    return {spec.gemm().shape.k, spec.gemm().output_columns(), spec.gemm().output_dtype()};
  }
  double bytes(const Spec& spec, const StepLoad& load) const override {
    return traffic_bytes(spec.gemm(), load.sequences);
  }
  std::unique_ptr<StepWeights> weights(const Spec& spec, std::size_t launches,
                                       const HelperKernels& helpers,
                                       const OwnedStream& stream) const override {
    return std::make_unique<GemmStepWeights>(spec.gemm(), launches, helpers, stream);
  }
  std::function<void()> launch(const StepPlace& place, const StepShared& shared,
                               const StepWeights* weights) const override {
    const auto& own = static_cast<const GemmStepWeights&>(*weights);
    GemmArgs args = own.tensors.args(1, own.packed.packed()[place.turn].memory());
    args.x = place.in.memory();
    args.y = place.out.memory();
    args.workspace = shared.workspace.memory();
    args.m = shared.load.sequences;
    return [args, kernel = GemmKernel(place.kernel), &shared] {
      kernel.launch(args, shared.stream.get());
    };
  }
};

}  // namespace

const StepPart& gemm_step() {
  static const GemmStep step;
  return step;
}

}  // namespace heddle
