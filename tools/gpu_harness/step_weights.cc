#include "tools/gpu_harness/step_weights.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "generator/decode/float16.h"
#include "tools/gpu_harness/bench_data.h"

namespace heddle {
namespace {

// What a norm multiplies by is `scale` times a number from one half to three halves.
DeviceBuffer norm_weights(std::int64_t columns, std::size_t copies, double scale, int offset,
                          DType dtype, const OwnedStream& stream) {
  std::mt19937 random(kBenchSeed);
  std::uniform_real_distribution<double> draw(0.5, 1.5);
  std::vector<std::uint16_t> weights(static_cast<std::size_t>(columns));
  for (std::uint16_t& weight : weights) {
    weight = static_cast<std::uint16_t>(
        float16_from_double(float16_format(dtype), scale * draw(random) - offset));
  }
  const std::size_t bytes = 2 * weights.size();
  DeviceBuffer buffer(copies * bytes);
  buffer.upload(weights.data(), bytes, stream);
  buffer.repeat(0, bytes, buffer.bytes(), stream);
  return buffer;
}

}  // namespace

StepWeights::StepWeights(const DecodeStep& step, const HelperKernels& helpers,
                         const OwnedStream& stream) {
  for (std::size_t i = 0; i < step.kernels.size(); ++i) {
    const Spec& spec = step.kernels[i];
    const std::size_t launches = step.count(i);
    OfKernel own;
    const auto* rows = spec.get_if<RowTransformSpec>();
    const auto* append = spec.get_if<KvAppendSpec>();
    if (const auto* gemm = spec.get_if<GemmSpec>()) {
      own.tensors =
          std::make_unique<GemmTensors>(make_gemm_tensors(*gemm, 1, kBenchSeed, helpers, stream));
      own.packed = std::make_unique<WeightCopies>(*gemm, helpers, stream, launches);
    } else if (rows != nullptr && rows->norm.type != NormType::kNone) {
      const std::int64_t columns = rows->shape.columns;
      own.vectors = norm_weights(columns, launches, 1 / std::sqrt(static_cast<double>(columns)),
                                 rows->norm.weight_offset, rows->input, stream);
      own.vector_bytes = own.vectors.bytes() / launches;
    } else if (append != nullptr && append->norm.epsilon) {
      own.vectors = norm_weights(append->shape.head_dim, 1, 1, append->norm.weight_offset,
                                 append->activation, stream);
    }
    kernels_.push_back(std::move(own));
  }
  stream.synchronize();
}

GemmArgs StepWeights::gemm_args(std::size_t kernel, std::size_t turn) const {
  const OfKernel& own = kernels_[kernel];
  return own.tensors->args(1, own.packed->packed()[turn].memory());
}

DeviceInput StepWeights::norm_weight(std::size_t kernel, std::size_t turn) const {
  const OfKernel& own = kernels_[kernel];
  return own.vectors.memory(turn * own.vector_bytes, own.vector_bytes);
}

}  // namespace heddle
