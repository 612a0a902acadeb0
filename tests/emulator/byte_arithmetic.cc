#include "tests/emulator/byte_arithmetic.h"

#include <cmath>
#include <vector>

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
  const double* const values_of_a = values_of(first.of_a);
  const double* const values_of_b = values_of(first.of_b);
  for (int number = 0; number < 32; ++number) {
    const auto& lane = *static_cast<const CodeLane*>(arguments[number]);
    const int g = number / 4, t = number % 4;
    for (int k = 0; k < first.depth; k += 16) {
      for (int i = 0; i < 4; ++i) {
        for (int eight = 0; eight < eights; ++eight) {
          a[g + 8 * eight][k + 4 * t + i] =
              values_of_a[byte_of(lane.a[k / 16 * eights + eight], i)];
        }
        b[k + 4 * t + i][g] = values_of_b[byte_of(lane.b[k / 16], i)];
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

double computed_value(Codes codes, std::uint8_t code) {
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

std::vector<double> all_values(Codes codes) {
  std::vector<double> values;
  for (unsigned code = 0; code < 256; ++code) {
    values.push_back(computed_value(codes, static_cast<std::uint8_t>(code)));
  }
  return values;
}

}  // namespace

const double* values_of(Codes codes) {
  static const std::vector<double> int8 = all_values(Codes::kInt8);
  static const std::vector<double> e4m3 = all_values(Codes::kE4m3);
  static const std::vector<double> e5m2 = all_values(Codes::kE5m2);
  return codes == Codes::kInt8 ? int8.data() : codes == Codes::kE4m3 ? e4m3.data() : e5m2.data();
}
double value_of(Codes codes, std::uint8_t code) { return values_of(codes)[code]; }

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
