#include "tools/gpu_harness/step/step_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "heddle/error.h"
#include "heddle/weights.h"
#include "tools/gpu_harness/device/guarded_buffer.h"

namespace heddle {
namespace {

std::vector<unsigned char> bytes_of_output(const StepOutput& output, const OwnedStream& stream) {
  std::vector<unsigned char> bytes(output.elements *
                                   static_cast<std::size_t>(bytes_of(output.dtype)));
  output.buffer->download(bytes.data(), 0, bytes.size(), stream);
  return bytes;
}

template <typename Word>
std::optional<std::size_t> first_with_exponent(const std::vector<unsigned char>& bytes,
                                               Word exponent) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(Word); ++i) {
    Word word = 0;
    std::memcpy(&word, bytes.data() + i * sizeof(Word), sizeof(Word));
    if ((word & exponent) == exponent) return i;
  }
  return std::nullopt;
}

void check_finite(const std::vector<unsigned char>& bytes, const StepOutput& output,
                  const std::string& name, int layer, std::size_t rows) {
  const std::optional<std::size_t> bad = first_not_finite(bytes, output.dtype);
  if (!bad) return;
  const std::size_t columns = output.elements / rows;
  throw Error(ErrorCategory::kDriver, "step.output",
              fmt::format("{} of decoder layer {} left element ({}, {}) unwritten, infinite or no "
                          "number",
                          name, layer, *bad / columns, *bad % columns));
}

}  // namespace

std::optional<std::size_t> first_not_finite(const std::vector<unsigned char>& bytes, DType dtype) {
  if (dtype == DType::kFp32) return first_with_exponent<std::uint32_t>(bytes, 0x7F800000);
  return first_with_exponent<std::uint16_t>(bytes, dtype == DType::kBf16 ? 0x7F80 : 0x7C00);
}

std::vector<unsigned char> last_output(const StepDevice& device, const OwnedStream& stream) {
  return bytes_of_output(device.output(device.launches() - 1), stream);
}

std::vector<unsigned char> check_step(const DecodeStep& step, StepDevice& device,
                                      const OwnedStream& stream) {
  std::vector<unsigned char> bytes;
  const auto rows = static_cast<std::size_t>(device.sequences());
  device.begin();
  for (std::size_t i = 0; i < device.launches(); ++i) {
    const StepOutput& output = device.output(i);
    output.buffer->fill(kNanByte, stream);
    device.launch(i);
    bytes = bytes_of_output(output, stream);
    const StepLaunch& launch = step.launches[i];
    check_finite(bytes, output, step.kernels[launch.kernel].name(), launch.layer, rows);
  }
  const StepOutput residual = device.residual();
  check_finite(bytes_of_output(residual, stream), residual, "the residual stream", step.layers,
               rows);
  return bytes;
}

}  // namespace heddle
