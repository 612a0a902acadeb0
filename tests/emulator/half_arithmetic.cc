#include "tests/emulator/half_arithmetic.h"

#include <cmath>
#include <vector>

#include "generator/decode/float16.h"
#include "tests/emulator/device.h"

namespace emulator {
namespace {

heddle::Float16Format format_of(Half half) {
  return half == Half::kFp16 ? heddle::kBinary16 : heddle::kBfloat16;
}

std::uint16_t low(std::uint32_t pair) { return static_cast<std::uint16_t>(pair); }
std::uint16_t high(std::uint32_t pair) { return static_cast<std::uint16_t>(pair >> 16); }
std::uint32_t pair_of(std::uint16_t low, std::uint16_t high) {
  return low | static_cast<std::uint32_t>(high) << 16;
}

std::vector<float> widened(heddle::Float16Format format) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 1U << 16; ++bits) {
    values.push_back(
        static_cast<float>(heddle::float16_to_double(format, static_cast<std::uint16_t>(bits))));
  }
  return values;
}

struct MmaLane {
  Half half;
  float* d;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

void multiply_half_lanes(const WarpArguments& lanes) {
  const float* const values = widened_halves(static_cast<const MmaLane*>(lanes[0])->half);
  double a[16][16], b[8][16];  // columns of A, so that the sums of all rows grow together, and of B
  for (int lane = 0; lane < 32; ++lane) {
    const auto& mine = *static_cast<const MmaLane*>(lanes[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int row = g + i % 2 * 8, column = 2 * t + i / 2 * 8;
      a[column][row] = values[low(mine.a[i])];
      a[column + 1][row] = values[high(mine.a[i])];
    }
    for (int i = 0; i < 2; ++i) {
      b[g][2 * t + 8 * i] = values[low(mine.b[i])];
      b[g][2 * t + 8 * i + 1] = values[high(mine.b[i])];
    }
  }
  for (int column = 0; column < 8; ++column) {
    const auto sum_of = [&](int row) -> float& {
      const auto& mine = *static_cast<const MmaLane*>(lanes[row % 8 * 4 + column / 2]);
      return mine.d[row / 8 * 2 + column % 2];
    };
    double sums[16];
    for (int row = 0; row < 16; ++row) sums[row] = sum_of(row);
    for (int k = 0; k < 16; ++k) {
      for (int row = 0; row < 16; ++row) sums[row] += a[k][row] * b[column][k];
    }
    for (int row = 0; row < 16; ++row) sum_of(row) = static_cast<float>(sums[row]);
  }
}

struct LoadLane {
  std::uint32_t* d;
  std::uint32_t address;
};

using Matrix = std::uint16_t[8][8];

// A lane's part of the columns.
std::uint32_t transposed(const Matrix& matrix, unsigned lane) {
  return pair_of(matrix[2 * (lane % 4)][lane / 4], matrix[2 * (lane % 4) + 1][lane / 4]);
}

template <bool kTransposed>
void load(const WarpArguments& lanes) {
  Matrix matrices[4];
  for (unsigned lane = 0; lane < 32; ++lane) {
    load_shared(static_cast<const LoadLane*>(lanes[lane])->address, matrices[lane / 8][lane % 8],
                16, lane);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      static_cast<const LoadLane*>(lanes[lane])->d[i] =
          kTransposed ? transposed(matrices[i], lane)
                      : pair_of(matrices[i][g][2 * t], matrices[i][g][2 * t + 1]);
    }
  }
}

void transpose(const WarpArguments& lanes) {
  Matrix matrix;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const std::uint32_t pair = *static_cast<const std::uint32_t*>(lanes[lane]);
    matrix[lane / 4][2 * (lane % 4)] = low(pair);
    matrix[lane / 4][2 * (lane % 4) + 1] = high(pair);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    *static_cast<std::uint32_t*>(lanes[lane]) = transposed(matrix, lane);
  }
}

struct StoreLane {
  const std::uint32_t* values;
  std::uint32_t address;
};

void store_rows(const WarpArguments& arguments) {
  for (unsigned row = 0; row < 32; ++row) {
    std::uint32_t values[4];
    for (unsigned t = 0; t < 4; ++t) {
      values[t] = static_cast<const StoreLane*>(arguments[4 * (row % 8) + t])->values[row / 8];
    }
    store_shared(static_cast<const StoreLane*>(arguments[row])->address, values, 16, row);
  }
}

template <unsigned kMatrices>
void store(const WarpArguments& arguments) {
  for (unsigned column = 0; column < 8 * kMatrices; ++column) {
    std::uint16_t values[8];
    for (unsigned row = 0; row < 8; ++row) {
      const auto& from = *static_cast<const StoreLane*>(arguments[4 * row + column % 8 / 2]);
      const std::uint32_t pair = from.values[column / 8];
      values[row] = static_cast<std::uint16_t>(column % 2 == 0 ? pair : pair >> 16);
    }
    store_shared(static_cast<const StoreLane*>(arguments[column])->address, values, 16, column);
  }
}

// 4 exponent bits with bias 7; all ones are NaN.
std::uint16_t fp16_of_code(std::uint32_t code) {
  const std::uint32_t size = code & 0x7F;
  const double value =
      size < 8 ? std::ldexp(size, -9) : std::ldexp(8 + size % 8, static_cast<int>(size / 8) - 10);
  const std::uint16_t bits =
      size == 0x7F ? 0x7E00 : heddle::float16_from_double(heddle::kBinary16, value);
  return static_cast<std::uint16_t>(bits | (code & 0x80) << 8);
}

}  // namespace

std::uint32_t sub_pair(Half half, std::uint32_t a, std::uint32_t b) {
  const heddle::Float16Format format = format_of(half);
  return pair_of(heddle::float16_sub(format, low(a), low(b)),
                 heddle::float16_sub(format, high(a), high(b)));
}
std::uint32_t mul_pair(Half half, std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kMinusZeros = 0x80008000;
  return fma_pair(half, a, b, kMinusZeros);
}
std::uint32_t fma_pair(Half half, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const heddle::Float16Format format = format_of(half);
  return pair_of(heddle::float16_fma(format, low(a), low(b), low(c)),
                 heddle::float16_fma(format, high(a), high(b), high(c)));
}
std::uint32_t round_pair(Half half, float low, float high) {
  const heddle::Float16Format format = format_of(half);
  return pair_of(heddle::float16_from_double(format, low),
                 heddle::float16_from_double(format, high));
}
const float* widened_halves(Half half) {
  static const std::vector<float> fp16 = widened(heddle::kBinary16);
  static const std::vector<float> bf16 = widened(heddle::kBfloat16);
  return half == Half::kFp16 ? fp16.data() : bf16.data();
}
float widen(Half half, std::uint16_t bits) { return widened_halves(half)[bits]; }

void multiply_tiles(Half half, float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                    std::uint32_t b1) {
  MmaLane lane{half, d, a, {b0, b1}};
  warp_together("mma", &lane, multiply_half_lanes);
}
void load_matrices(std::uint32_t (&d)[4], std::uint32_t address) {
  LoadLane lane{d, address};
  warp_together("ldmatrix", &lane, load<false>);
}
void load_matrices_transposed(std::uint32_t (&d)[4], std::uint32_t address) {
  LoadLane lane{d, address};
  warp_together("ldmatrix.trans", &lane, load<true>);
}
void store_matrices(std::uint32_t address, const std::uint32_t (&values)[4]) {
  StoreLane lane{values, address};
  warp_together("stmatrix.x4", &lane, store_rows);
}
void store_matrices_transposed(std::uint32_t address, const std::uint32_t (&values)[4]) {
  StoreLane lane{values, address};
  warp_together("stmatrix.x4.trans", &lane, store<4>);
}
void store_two_matrices_transposed(std::uint32_t address, const std::uint32_t (&values)[2]) {
  StoreLane lane{values, address};
  warp_together("stmatrix.x2.trans", &lane, store<2>);
}
std::uint32_t transpose_matrix(std::uint32_t a) {
  warp_together("movmatrix.trans", &a, transpose);
  return a;
}
std::uint32_t fp16_of_e4m3(std::uint32_t codes) {
  return pair_of(fp16_of_code(codes & 255), fp16_of_code(codes >> 8 & 255));
}

}  // namespace emulator
