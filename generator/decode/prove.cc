// The proof of a decode plan: it equals exact arithmetic on every code in every position.
#include <fmt/format.h>

#include <random>

#include "generator/decode/float16.h"
#include "heddle/decode_plan.h"

namespace heddle {
namespace {

int signed_value(const DecodeRequest& request, unsigned field) {
  const int half_range = 1 << (request.bits - 1);
  const int value = static_cast<int>(field);
  return request.type == WeightType::kInt && value >= half_range ? value - 2 * half_range : value;
}

int fixed_bias(const DecodeRequest& request) {
  return request.type == WeightType::kUint ? 1 << (request.bits - 1) : 0;
}

class Proof {
 public:
  explicit Proof(const DecodePlan& plan) : plan_(plan), codes_(1u << plan.request.bits) {}

  DecodeProof run() {
    const bool zeros = plan_.request.zero_point == ZeroPoint::kInt;
    for (unsigned low = 0; low < (zeros ? codes_ : 1); ++low) {
      // The other row's zero point must not matter: take a different one for it.
      const unsigned high = zeros ? codes_ - 1 - low : 0;
      check_words(low, high);
      if (zeros) check_words(low, low);
    }
    return proof_;
  }

 private:
  void check_words(unsigned zero_low, unsigned zero_high) {
    const int elements = static_cast<int>(plan_.field_of.size());
    for (int e = 0; e < elements; ++e) {
      for (unsigned code = 0; code < codes_; ++code) {
        for (const std::uint32_t neighbours : {0u, ~0u, static_cast<std::uint32_t>(random_()),
                                               static_cast<std::uint32_t>(random_())}) {
          const int shift = plan_.field_of[e] * plan_.request.bits;
          const std::uint32_t mask = (codes_ - 1) << shift;
          check_word((neighbours & ~mask) | code << shift, zero_low, zero_high);
        }
      }
    }
  }

  // All elements of a word are compared: the neighbours are codes, too.
  void check_word(std::uint32_t word, unsigned zero_low, unsigned zero_high) {
    const DecodeRequest& request = plan_.request;
    const auto zero_fields = static_cast<std::uint16_t>(zero_high << request.bits | zero_low);
    const std::vector<std::uint16_t> got = evaluate_decode_plan(plan_, word, zero_fields);
    for (std::size_t e = 0; e < got.size(); ++e) {
      const unsigned field = word >> (plan_.field_of[e] * request.bits) & (codes_ - 1);
      // Elements 2i and 2i + 1 belong to register a_i; odd registers hold row g + 8.
      const int zero = request.zero_point == ZeroPoint::kInt
                           ? signed_value(request, e / 2 % 2 == 0 ? zero_low : zero_high)
                           : fixed_bias(request);
      const int want = signed_value(request, field) - zero;
      const std::uint16_t want_bits = float16_from_double(float16_format(request.dtype), want);
      ++proof_.codes_checked;
      if (got[e] == want_bits) continue;
      if (proof_.mismatches++ == 0) {
        proof_.first_mismatch =
            fmt::format("word 0x{:08x}, element {}: got 0x{:04x}, want {} = 0x{:04x}", word, e,
                        got[e], want, want_bits);
      }
    }
  }

  const DecodePlan& plan_;
  const unsigned codes_;
  std::mt19937 random_{1};
  DecodeProof proof_;
};

}  // namespace

DecodeProof prove_decode_plan(const DecodePlan& plan) { return Proof(plan).run(); }

}  // namespace heddle
