// How entry points are named.
#ifndef HEDDLE_GENERATOR_FAMILIES_KERNEL_NAME_H_
#define HEDDLE_GENERATOR_FAMILIES_KERNEL_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

// "uint4z_g128", "e4m3_channel", "e2m1_g16_ts": type, zero points (z, or f for floats), group,
// tensor scale.
std::string weight_name(const WeightSpec& weight);

// How the name of a gemm's kernel begins: its format, without output type, epilogue and shape.
std::string gemm_name_prefix(const WeightSpec& weight, DType activation);
// The part of that name with the shape: "_n4096_k4096_".
std::string gemm_name_shape(std::int64_t n, std::int64_t k);
// The part with what follows the product, in the order of the computation: "_gated", "_bias",
// "_silu", "_residual".
std::string epilogue_name(const GemmSpec& spec);
// Whether a gemm's kernel of this name serves more than one N and K.
bool is_name_of_any_shape(std::string_view name);

// "heddle_gemm_uint4z_g128_fp16_n4096_k4096_m1_8": the last two are the kernel's range of M. A
// kernel that serves any shape has `any_shape`, which is not empty then, in their place:
// "heddle_gemm_uint4z_g128_fp16_any_wgmma_32x64x512_s4_pairs". What
// the spec sets of output ("_fp32") and epilogue stands behind the activations' type. All else that
// a spec may say (how its weights lie, a tile, factors of columns) is not in a name: several texts
// may share one.
std::string gemm_kernel_name(const GemmSpec& spec, const MRange& m, std::string_view any_shape);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_KERNEL_NAME_H_
