#include "tools/gpu_harness/step/step_part.h"

#include <random>
#include <vector>

#include "generator/decode/float16.h"
#include "tools/gpu_harness/harness.h"
#include "tools/gpu_harness/timing/rotation.h"

namespace heddle {

const StepPart& step_part_of(const Spec& spec) { return *harness_of(spec).step(); }

double matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype) {
  return static_cast<double>(rows) * static_cast<double>(columns) * bytes_of(dtype);
}

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

}  // namespace heddle
