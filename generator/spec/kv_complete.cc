#include "generator/spec/kv_complete.h"

#include <cmath>

namespace heddle {
namespace {

KvGranularity usual_granularity(KvDtype dtype) {
  switch (dtype) {
    case KvDtype::kFp16:
    case KvDtype::kBf16:
      return KvGranularity::kNone;
    case KvDtype::kFp8E4m3:
    case KvDtype::kFp8E5m2:
      return KvGranularity::kTensor;
    case KvDtype::kNvfp4:
      return KvGranularity::kGroup;
    case KvDtype::kInt8:
    case KvDtype::kInt4:
    case KvDtype::kInt2:
      break;
  }
  return KvGranularity::kHead;
}

void complete(KvTensor& tensor, DType activation) {
  const bool nvfp4 = tensor.dtype == KvDtype::kNvfp4;
  if (tensor.granularity == KvGranularity::kAuto) {
    tensor.granularity = usual_granularity(tensor.dtype);
  }
  if (tensor.group_size == 0) {
    if (tensor.granularity == KvGranularity::kGroup) tensor.group_size = nvfp4 ? 16 : 64;
    if (tensor.granularity == KvGranularity::kChannel) tensor.group_size = 32;
  }
  if (tensor.scale_dtype || tensor.granularity == KvGranularity::kNone) return;
  tensor.scale_dtype = nvfp4 ? DType::kE4m3 : activation;
  if (tensor.granularity == KvGranularity::kTensor) tensor.scale_dtype = DType::kFp32;
}

void complete(RopeScaling& scaling) {
  if (scaling.type == RopeScalingType::kNone) scaling = {};
  if (scaling.type != RopeScalingType::kYarn || !scaling.factor) return;
  constexpr float kBetaFast = 32;
  constexpr float kBetaSlow = 1;
  if (!scaling.beta_fast) scaling.beta_fast = kBetaFast;
  if (!scaling.beta_slow) scaling.beta_slow = kBetaSlow;
  if (!scaling.attention_factor) scaling.attention_factor = yarn_attention_factor(*scaling.factor);
}

void complete(KvSpec& kv, DType activation) {
  complete(kv.k, activation);
  complete(kv.v, activation);
  // Another number than a spec has without one is left to check_meaning().
  const bool is_usual = kv.page_size == KvSpec().page_size;
  if (kv.layout == KvLayout::kContiguous && is_usual) kv.page_size = 0;
}

}  // namespace

float yarn_attention_factor(double factor, double multiplier) {
  return static_cast<float>(0.1 * multiplier * std::log(factor) + 1);
}

void complete(KvAppendSpec& spec) {
  complete(spec.kv, spec.activation);
  RopeSpec& rope = spec.rope;
  if (rope.pairing == RopePairing::kNone) rope = {};
  // A head that is no multiple of the step is refused by check_meaning(); a spec cannot name it as
  // rope.dim.
  constexpr int kStepDim = 16;
  const bool is_sayable = spec.shape.head_dim % kStepDim == 0;
  if (rope.pairing != RopePairing::kNone && rope.dim == 0 && is_sayable) {
    rope.dim = spec.shape.head_dim;
  }
  if (rope.source == RopeSource::kTable) rope.base = RopeSpec().base;
  complete(rope.scaling);
}

void complete(DecodeAttentionSpec& spec) {
  complete(spec.kv, spec.activation);
  if (spec.scale_dim == 0) spec.scale_dim = spec.shape.head_dim;
}

}  // namespace heddle
