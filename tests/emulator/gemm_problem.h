// The data of a GEMM, and its outputs in FP64.
#ifndef HEDDLE_TESTS_EMULATOR_GEMM_PROBLEM_H_
#define HEDDLE_TESTS_EMULATOR_GEMM_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "heddle/weights.h"
#include "tests/emulator/global_memory.h"
#include "tools/gpu_harness/operations/gemm/byte_activations.h"

namespace heddle {

// How far an output is off, relative to the root mean square of all that are expected; a code of
// eight bits from the values that are rounded to it.
struct Errors {
  double root_mean_square = 0;
  double most = 0;
};

// Largest relative error allowed, in the root mean square. Rounding the output alone gives about
// 2e-4 in FP16 and 1.7e-3 in BF16; rounding the scaled weight as well gives up to 1.5 times that.
double error_limit(const GemmSpec& spec);

// Normal values of variance 1 in 16 bits, and such values as numbers.
std::vector<std::uint16_t> random_values(std::int64_t count, DType dtype, unsigned seed);
std::vector<double> numbers(const std::vector<std::uint16_t>& bits, DType dtype);
// W, [n][k].
std::vector<double> plain_weights(const GemmSpec& spec, const QuantizedWeights& weights);

class GemmProblem {
 public:
  // A problem with as many tokens as the spec's shape has.
  explicit GemmProblem(const GemmSpec& spec);

  struct Buffers {
    const std::uint8_t* x;
    const std::uint8_t* weights;
    const std::uint8_t* bias;
    const std::uint8_t* residual;
    const std::uint8_t* pre_scale;
    std::uint8_t* y;
    const std::uint8_t* x_scales;
    const std::uint8_t* x_zero_points;
    std::int64_t x_scale_stride;
    std::uint8_t* y_scales;
  };
  Buffers allocate(emulator::GlobalMemory& memory, std::int64_t m) const;
  std::size_t output_bytes(std::int64_t m) const;  // of Y
  // What a launch wrote: the bytes of Y, then those of the scales that it found.
  std::vector<std::uint8_t> written(const Buffers& buffers, std::int64_t m) const;
  // `scales`: those of groups of Y, which the launch has written.
  Errors errors(const std::uint8_t* y, std::int64_t m, const std::uint8_t* scales = nullptr) const;

 private:
  std::size_t value_bytes() const;                // of Y
  std::size_t scale_bytes(std::int64_t m) const;  // of its scales, where the launch finds them
  std::uint8_t* allocate_output_scales(emulator::GlobalMemory& memory, std::int64_t m) const;

  GemmSpec spec_;
  std::vector<std::uint8_t> packed_;
  std::vector<double> make_x(std::int64_t m);

  std::vector<std::uint16_t> x_, pre_scale_;
  ByteActivations bytes_;  // in place of x_
  std::vector<std::uint8_t> bias_, residual_;
  std::vector<double> reference_;  // of Y's shape
  float y_scale_ = 0;              // of Y of eight bits
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_GEMM_PROBLEM_H_
