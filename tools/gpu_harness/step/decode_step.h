// The launches of one decode step of a model: one new token of each sequence, from the first norm
// to the logits.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_STEP_DECODE_STEP_H_
#define HEDDLE_TOOLS_GPU_HARNESS_STEP_DECODE_STEP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "heddle/model.h"
#include "heddle/spec.h"

namespace heddle {

struct StepLaunch {
  std::size_t kernel = 0;  // index into DecodeStep::kernels
  int layer = 0;           // decoder layer; as many as there are for what follows the last one
  // A router's: experts behind it read what it has read, and choices that are drawn.
  bool aside = false;
};

struct DecodeStep {
  std::vector<Spec> kernels;  // each once, with a name
  // In order; each reads what the last one that is not aside wrote.
  std::vector<StepLaunch> launches;
  int layers = 0;                  // decoder layers that are in it
  int model_layers = 0;            // and that the model has
  std::vector<std::string> notes;  // what of a step no launch does

  // How many launches the kernel has in a step.
  std::size_t count(std::size_t kernel) const;
};

// `model` is of a config, with the operations on its cache and with kernels for every dense layer;
// `layers` is how many of its first decoder layers the step has, 0 for all. The first launch and,
// with norms around, the ones behind each half are "norm"; every other norm is "add_norm", which
// also adds the half's output to the residual stream. Touches no GPU. Throws Error(kUnsupported,
// "step.model") with the decoder layer and what of it a step does not have: shared experts, mixers
// other than attention, norms in other places or of other kinds, a layer without a kernel, other
// linear layers than those of Q, K and V together, of attention's output, of gate and up together
// (or of up alone) and down, or of a router with its experts; Error(kUsage, "step.layers") for more
// layers than the model has.
DecodeStep decode_step(const Model& model, int layers = 0);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_STEP_DECODE_STEP_H_
