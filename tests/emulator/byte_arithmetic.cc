#include "tests/emulator/byte_arithmetic.h"

#include <cmath>

#include "tests/emulator/device.h"
#include "tests/emulator/half_arithmetic.h"

namespace emulator {
namespace {

// A lane's part of an instruction of `rows` rows and `depth` columns of A: registers of A by 8
// rows, then by 16 columns.
struct CodeLane {
  Codes of_a, of_b;
  int rows, depth;
  void* d;
  const std::uint32_t *a, *b;
};

std::uint8_t byte_of(std::uint32_t word, int number) {
  return static_cast<std::uint8_t>(word >> 8 * number);
}

void add(const CodeLane& lane, int number, double product) {
  if (lane.of_a == Codes::kInt8) {
    static_cast<std::uint32_t*>(lane.d)[number] +=
        static_cast<std::uint32_t>(static_cast<std::int32_t>(product));
    return;
  }
  float& sum = static_cast<float*>(lane.d)[number];
  sum = static_cast<float>(static_cast<double>(sum) + product);
}

void multiply_code_lanes(const WarpArguments& arguments) {
  constexpr int kMostRows = 16, kColumns = 8, kMostDepth = 32;
  double a[kMostRows][kMostDepth] = {}, b[kMostDepth][kColumns] = {};
  const auto& first = *static_cast<const CodeLane*>(arguments[0]);
  const int eights = first.rows / 8;
  for (int number = 0; number < 32; ++number) {
    const auto& lane = *static_cast<const CodeLane*>(arguments[number]);
    const int g = number / 4, t = number % 4;
    for (int k = 0; k < first.depth; k += 16) {
      for (int i = 0; i < 4; ++i) {
        for (int eight = 0; eight < eights; ++eight) {
          a[g + 8 * eight][k + 4 * t + i] =
              value_of(first.of_a, byte_of(lane.a[k / 16 * eights + eight], i));
        }
        b[k + 4 * t + i][g] = value_of(first.of_b, byte_of(lane.b[k / 16], i));
      }
    }
  }
  for (int number = 0; number < 32; ++number) {
    const auto& lane = *static_cast<const CodeLane*>(arguments[number]);
    for (int i = 0; i < 2 * eights; ++i) {
      const int row = number / 4 + i / 2 * 8, column = number % 4 * 2 + i % 2;
      double product = 0;
      for (int k = 0; k < first.depth; ++k) product += a[row][k] * b[k][column];
      add(lane, i, product);
    }
  }
}

}  // namespace

double value_of(Codes codes, std::uint8_t code) {
  switch (codes) {
    case Codes::kInt8:
      return static_cast<std::int8_t>(code);
    case Codes::kE5m2:
      return widen(Half::kFp16, static_cast<std::uint16_t>(code << 8));
    case Codes::kE4m3:
      break;
  }
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if ((code & 127) == 127) return std::nan("");
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 128) != 0 ? -magnitude : magnitude;
}

void multiply_codes(Codes of_a, Codes of_b, void* d, const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2]) {
  CodeLane lane{of_a, of_b, 16, 32, d, a, b};
  warp_together("mma.m16n8k32", &lane, multiply_code_lanes);
}
void multiply_small_codes(std::uint32_t (&d)[2], std::uint32_t a, std::uint32_t b) {
  CodeLane lane{Codes::kInt8, Codes::kInt8, 8, 16, d, &a, &b};
  warp_together("mma.m8n8k16", &lane, multiply_code_lanes);
}

}  // namespace emulator
