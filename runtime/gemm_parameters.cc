#include "runtime/gemm_parameters.h"

#include "generator/plan/wgmma.h"
#include "runtime/tensor_maps.h"

namespace heddle {

GemmParameters::GemmParameters(const cuda::Driver& driver, const Plan& plan,
                               const GemmVariant& variant, int shared_tiles, const GemmArgs& args,
                               const void* x)
    : x_(x), m_(static_cast<int>(args.m)), shared_tiles_(shared_tiles) {
  // One after another into their places: a list that is copied there costs more than all else here.
  void** place = list_;
  const auto add = [&place](const auto* value) {
    *place++ = const_cast<void*>(static_cast<const void*>(value));
  };
  const bool wgmma = variant.kernel == GemmKernel::kWgmma;
  const bool tensor = wgmma || variant.kernel == GemmKernel::kBulk;
  if (tensor) {
    const GemmSpec& spec = plan.spec.gemm();
    // What a box has outside of X would be slow to come.
    const int box = wgmma ? wgmma_box_tokens(variant) : m_;
    add(token_map(driver, {x, args.m, spec.shape.k, box, spec.activation == DType::kBf16}));
  } else {
    add(&x_);
  }
  add(&args.weights);
  add(&args.y);
  add(&args.bias);
  add(&args.residual);
  if (!tensor) add(&args.pre_scale);
  add(&args.workspace);
  add(&m_);
  if (wgmma) add(&shared_tiles_);
}

}  // namespace heddle
