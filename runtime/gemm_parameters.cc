#include "runtime/gemm_parameters.h"

#include <algorithm>
#include <iterator>

#include "generator/plan/wgmma.h"

namespace heddle {

GemmParameters::GemmParameters(const cuda::Driver& driver, const Plan& plan,
                               const GemmVariant& variant, const GemmArgs& args, const void* x)
    : args_(args), m_(static_cast<int>(args.m)) {
  args_.x = x;
  void* weights = &args_.weights;
  void* y = &args_.y;
  void* bias = &args_.bias;
  void* residual = &args_.residual;
  void* workspace = &args_.workspace;
  if (variant.kernel == GemmKernel::kWgmma) {
    encode_tokens(driver, plan.spec.gemm(), variant.tile_m);
    shared_tiles_ = wgmma_shares(variant, plan.layout, args.m).shared_tiles;
    void* list[] = {&tokens_, weights, y, bias, residual, workspace, &m_, &shared_tiles_};
    std::copy(std::begin(list), std::end(list), list_);
  } else {
    void* list[] = {&args_.x, weights, y, bias, residual, &args_.pre_scale, workspace, &m_};
    std::copy(std::begin(list), std::end(list), list_);
  }
}

// X as boxes of 64 columns by the tokens of a tile, the units of a token's 128 bytes permuted as
// templates/primitives/wgmma.cuh wants them.
void GemmParameters::encode_tokens(const cuda::Driver& driver, const GemmSpec& spec, int tile_m) {
  const std::uint64_t sizes[] = {static_cast<std::uint64_t>(spec.shape.k),
                                 static_cast<std::uint64_t>(args_.m)};
  const std::uint64_t row_bytes[] = {2 * sizes[0]};
  const unsigned int box[] = {64, static_cast<unsigned int>(tile_m)};
  const unsigned int steps[] = {1, 1};
  const cuda::CUresult result = driver.cuTensorMapEncodeTiled(
      &tokens_,
      spec.activation == DType::kBf16 ? cuda::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                      : cuda::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
      2, const_cast<void*>(args_.x), sizes, row_bytes, box, steps,
      cuda::CU_TENSOR_MAP_INTERLEAVE_NONE, cuda::CU_TENSOR_MAP_SWIZZLE_128B,
      cuda::CU_TENSOR_MAP_L2_PROMOTION_L2_256B, cuda::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != cuda::CUDA_SUCCESS) cuda::check(result, "cuTensorMapEncodeTiled");
}

}  // namespace heddle
