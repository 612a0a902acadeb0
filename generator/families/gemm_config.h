// What the configurations of all GEMM families take from the spec and the layout.
#ifndef HEDDLE_GENERATOR_FAMILIES_GEMM_CONFIG_H_
#define HEDDLE_GENERATOR_FAMILIES_GEMM_CONFIG_H_

#include <string>
#include <vector>

#include "generator/families/fields.h"
#include "generator/spec/byte_meaning.h"
#include "heddle/inspect/plan.h"
#include "steps/config.h"

namespace heddle {

device::PackedWeights packed_weights(const GemmSpec& spec, const WeightLayout& layout);
device::WeightShape weight_shape(const GemmSpec& spec, const WeightLayout& layout);
device::EpilogueConfig epilogue_of(const GemmSpec& spec);

// Whether the columns of X have factors that the kernel itself multiplies by.
inline bool takes_pre_scale(const GemmSpec& spec) { return spec.pre_scale && !spec.act_order; }

// Behind a family's own arguments: those that Y of eight bits has.
void add_output_arguments(const GemmSpec& spec, PlannedKernel& kernel);

// "using Value = Fp16;" and "using Scale = ...;", what decoding and scaling compute in, with X of
// eight bits the type of the bias, and "using Result = ...;", what Y is made of.
std::vector<std::string> gemm_aliases(const GemmSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_GEMM_CONFIG_H_
