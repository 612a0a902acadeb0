// Activations of eight bits: whether kernels take them as a config says. Kernels of a config, those
// of a checkpoint and packed weights all ask here, so that they cannot differ.
#ifndef HEDDLE_GENERATOR_MODEL_BYTE_ACTIVATIONS_H_
#define HEDDLE_GENERATOR_MODEL_BYTE_ACTIVATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/model/scheme.h"
#include "heddle/spec.h"
#include "heddle/target.h"

namespace heddle {

// Throws Error(kUsage, "model.activations") unless it is 0 or 16: ModelConfigTexts.
void check_activation_bits(int bits);

// Blocks of W that have a scale each.
struct ScaleBlocks {
  int rows = 1;  // 1: W has no blocks
  int columns = 0;
  std::vector<std::int64_t> heights{};  // rows of the parts of W, each of which begins a block
};

// As the config has them.
ScaleBlocks blocks_of(const Scheme& scheme);

// The weights as kernels take those of such blocks, with FP32 scales, which hold all that
// checkpoints have.
void set_blocks(const ScaleBlocks& blocks, WeightSpec* weight);

// "int8 per token".
std::string activations_text(const ActivationScheme& activation);

// Whether models take kernels of such a gemm on the target: it has some, and others are not faster.
// Precondition: it has activations of eight bits.
bool takes_bytes(const Target& target, const GemmSpec& gemm);
// A target takes all that one of a smaller number takes.
int rank_by_bytes(const Target& target);

// Why no kernel takes the activations of the scheme on this architecture, 0 for any; empty where
// one does, as far as the config tells. Precondition: scheme.activation.
std::string why_sixteen_bits(const Scheme& scheme, int arch);
// "sm_90 alone": whose kernels take them. Precondition: no reason against them for any.
std::string architectures_with_bytes(const Scheme& scheme);

// Gives a gemm whose shape and weights are set these activations and Y of type `output`; with
// activations in groups also scales in these blocks. Where no kernel takes them the gemm stays as
// it is, and the reason is returned.
std::string set_byte_activations(const ActivationScheme& activation, const ScaleBlocks& blocks,
                                 DType output, GemmSpec* gemm);

// The start of the note that such a reason ends.
extern const char* const kSixteenBitsNote;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_BYTE_ACTIVATIONS_H_
