#include "tools/tune/calibration_problems.h"

#include <fmt/format.h>

#include <utility>

namespace heddle {
namespace {

struct Format {
  const char* name;
  int bits;
  int group_size;
  DType activation;
};

constexpr Format kW4{"W4", 4, 128, DType::kFp16};
constexpr Format kW8{"W8", 8, 128, DType::kBf16};
constexpr Format kW2{"W2", 2, 64, DType::kFp16};

CalibrationProblem problem(const Format& format, std::int64_t n, std::int64_t k,
                           std::vector<std::int64_t> m) {
  CalibrationProblem one;
  one.name = fmt::format("{} {} x {}", format.name, n, k);
  one.gemm.shape = {n, k, 1, m.back()};
  one.gemm.weight.bits = format.bits;
  one.gemm.weight.group_size = format.group_size;
  one.gemm.weight.scale_dtype = format.activation;
  one.gemm.activation = format.activation;
  one.m = std::move(m);
  return one;
}

// INT8 times INT8 by mma.sync, on sm_90, too, where plans prefer wgmma. The path turing has four
// times as many instructions.
CalibrationProblem byte_problem(Path path, std::int64_t n, std::int64_t k,
                                std::vector<std::int64_t> m) {
  CalibrationProblem one =
      problem({path == Path::kTuring ? "W8A8 turing" : "W8A8", 8, kPerChannel, DType::kInt8}, n, k,
              std::move(m));
  one.gemm.weight.type = WeightType::kInt;
  one.gemm.weight.scale_dtype = DType::kFp32;
  one.gemm.weight.interleave = Interleave::kSwizzle128b;
  one.gemm.activation_scale.granularity = RowGranularity::kToken;
  one.gemm.output = DType::kFp16;
  one.gemm.path = path;
  return one;
}

// Tokens of eight bits and weights of four by streams, although wgmma may be faster.
CalibrationProblem byte_stream_problem(DType dtype, std::int64_t n, std::int64_t k,
                                       std::vector<std::int64_t> m) {
  CalibrationProblem one = problem(
      {dtype == DType::kInt8 ? "W4A8 INT8" : "W4A8 FP8", 4, 128, dtype}, n, k, std::move(m));
  one.gemm.weight.scale_dtype = DType::kFp16;
  one.gemm.activation_scale.granularity = RowGranularity::kToken;
  one.gemm.output = DType::kFp16;
  one.gemm.path = Path::kHopper;
  one.gemm.tile.n = 16;  // which streams alone have
  return one;
}

}  // namespace

std::vector<CalibrationProblem> calibration_problems() {
  return {
      problem(kW4, 4096, 4096, {1, 8, 16, 64, 256, 1024}),
      problem(kW2, 8192, 8192, {1, 4, 16, 64, 128}),
      problem(kW8, 2048, 8192, {1, 16, 32, 256}),
      problem(kW4, 28672, 2048, {1, 2, 16, 48, 512}),
      problem(kW4, 1024, 16384, {1, 4, 32, 128}),
      problem(kW8, 8192, 3072, {1, 8, 64, 1024}),
      problem(kW2, 1536, 6144, {1, 16, 96}),
      problem(kW4, 8192, 28672, {1, 8, 64, 128}),
      problem(kW8, 512, 8192, {1, 4, 32}),
      byte_problem(Path::kAmpere, 4096, 4096, {1, 16, 64, 256, 1024}),
      byte_problem(Path::kTuring, 1536, 8192, {1, 16, 64, 512}),
      byte_problem(Path::kTuring, 14336, 2048, {1, 16, 64, 256}),
      byte_stream_problem(DType::kInt8, 4096, 4096, {1, 8, 16}),
      byte_stream_problem(DType::kFp8E4m3, 2048, 8192, {1, 4, 16}),
      byte_stream_problem(DType::kInt8, 28672, 2048, {1, 8, 16}),
      byte_stream_problem(DType::kInt8, 512, 8192, {1, 8, 16}),
  };
}

}  // namespace heddle
