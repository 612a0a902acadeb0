#include "generator/kv/rope.h"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "generator/kv/rope_scaling.h"

namespace heddle {
namespace {

constexpr int kTurnBits = 64;
constexpr float kRadians = 0x1.921fb6p-30F;  // 2 pi / 2^32

// Interpolated at Chebyshev nodes: sin x = x + x^3 * p(x^2), cos x = 1 + x^2 * (-1/2 + x^2 * p).
constexpr float kSine[] = {-0x1.555552p-3F, 0x1.110c28p-7F, -0x1.9ac9bp-13F};
constexpr float kCosine[] = {0x1.555554p-5F, -0x1.6c12d2p-10F, 0x1.9bd89cp-16F};

float polynomial(const float (&p)[3], float z) {
  return std::fma(std::fma(p[2], z, p[1]), z, p[0]);
}

// An element after the rotation with the other one of its pair: x cos -+ partner sin.
float turned(float x, float partner, float cosine, float sine) {
  const float product = partner * sine;
  return std::fma(x, cosine, product);
}

}  // namespace

std::vector<std::uint64_t> rope_frequencies(const RopeSpec& rope) {
  std::vector<std::uint64_t> frequencies;
  for (const double radians : rope_radians(rope)) {
    const double turns = radians / (2 * std::numbers::pi);
    frequencies.push_back(static_cast<std::uint64_t>(std::ldexp(turns, kTurnBits)));
  }
  return frequencies;
}

float rope_factor(const RopeSpec& rope) { return rope.scaling.attention_factor.value_or(1.0F); }

Rotation scaled(const Rotation& rotation, float factor) {
  return {rotation.cosine * factor, rotation.sine * factor};
}

Rotation rope_rotation(std::uint64_t frequency, std::uint32_t position) {
  const auto turn = static_cast<std::uint32_t>(frequency * position >> 32);
  const std::uint32_t quarter = (turn + (1u << 29)) >> 30;
  const auto rest = static_cast<std::int32_t>(turn - (quarter << 30));
  const float x = static_cast<float>(rest) * kRadians;
  const float z = x * x;
  const float cube = x * z;
  const float sine = std::fma(cube, polynomial(kSine, z), x);
  const float cosine = std::fma(z, std::fma(z, polynomial(kCosine, z), -0.5F), 1.0F);
  switch (quarter & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

void rotate_row(const RopeSpec& rope, const std::vector<Rotation>& rotations, float* row) {
  const bool neox = rope.pairing == RopePairing::kNeox;
  for (std::size_t i = 0; i < rotations.size(); ++i) {
    float& a = row[neox ? i : 2 * i];
    float& b = row[neox ? i + rotations.size() : 2 * i + 1];
    const auto [cosine, sine] = rotations[i];
    const float first = turned(a, b, cosine, -sine);
    b = turned(b, a, cosine, sine);
    a = first;
  }
}

}  // namespace heddle
