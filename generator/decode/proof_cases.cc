// Every code in every position: all positions at once, and each among neighbours that would show.
#include "generator/decode/proof_cases.h"

#include <random>

#include "generator/decode/requests.h"

namespace heddle {
namespace {

class Cases {
 public:
  Cases(const DecodePlan& plan, const std::function<void(const ProofCase& one)>& visit)
      : plan_(plan), visit_(visit), codes_(1u << plan.request.bits) {
    one_.words.resize(plan.words);
    one_.group_words.resize(plan.group_words);
    one_.zeros.resize(plan.elements());
  }

  void run() {
    const unsigned last = last_zero();
    for (unsigned zero = 0; zero <= last; ++zero) {
      // Another zero point must not matter: the other row, or the next element, has another one.
      set_zeros(zero, last - zero);
      visit_all_codes(zero);
      set_zeros(zero, zero);
      visit_all_codes(last - zero);
      // The neighbours cannot see the zero points; a few of these are enough.
      if (last < 16 || zero == 0 || zero == last / 2 || zero == last) visit_neighbours();
    }
  }

 private:
  bool with_zeros() const { return plan_.request.zero_point == ZeroPoint::kInt; }
  bool with_scales() const { return plan_.request.fold_scale; }
  bool by_element() const { return plan_.request.zero_order == ZeroOrder::kElements; }
  unsigned last_zero() const {
    if (with_scales()) return static_cast<unsigned>(proof_scales().size()) - 1;
    return with_zeros() ? codes_ - 1 : 0;
  }

  // The zero points, or the scales, of row g and row g + 8, or of even and odd elements.
  void set_zeros(unsigned first, unsigned second) {
    if (!with_zeros() && !with_scales()) return;
    for (int e = 0; e < plan_.elements(); ++e) {
      const int of_register = plan_.makes_bytes() ? 4 : 2;
      const bool is_first = by_element() ? e % 2 == 0 : e / of_register % 2 == 0;
      one_.zeros[e] = is_first ? first : second;
      if (by_element()) write_code(plan_, e, one_.zeros[e], one_.group_words);
    }
    if (by_element()) return;
    if (with_scales()) {
      const auto& scales = proof_scales();
      one_.group_words[0] = static_cast<std::uint32_t>(scales[second]) << 16 | scales[first];
      return;
    }
    const unsigned fields = second << plan_.request.bits | first;
    one_.group_words[0] = fields << 16 | fields;
  }

  // Every code in every position, all positions at once, each with another code.
  void visit_all_codes(unsigned start) {
    for (unsigned code = 0; code < codes_; ++code) {
      for (int e = 0; e < plan_.elements(); ++e) {
        write_code(plan_, e, (code + start + 37 * static_cast<unsigned>(e)) % codes_, one_.words);
      }
      visit_(one_);
    }
  }

  // Every code in every position among neighbours that are all zero, all one, and random.
  void visit_neighbours() {
    for (int e = 0; e < plan_.elements(); ++e) {
      for (unsigned code = 0; code < codes_; ++code) {
        for (int neighbours = 0; neighbours < 4; ++neighbours) {
          for (std::uint32_t& word : one_.words) {
            word = neighbours == 0   ? 0u
                   : neighbours == 1 ? ~0u
                                     : static_cast<std::uint32_t>(random_());
          }
          write_code(plan_, e, code, one_.words);
          visit_(one_);
        }
      }
    }
  }

  const DecodePlan& plan_;
  const std::function<void(const ProofCase& one)>& visit_;
  const unsigned codes_;
  ProofCase one_;
  std::mt19937 random_{1};
};

}  // namespace

const std::vector<std::uint16_t>& proof_scales() {
  static const std::vector<std::uint16_t> scales = [] {
    constexpr int kMantissas = 128;
    // Exponents with their bias of 127.
    constexpr int kSmallest = 127 - 59, kLargest = 127 + 59;
    std::vector<std::uint16_t> list;
    for (int mantissa = 0; mantissa < kMantissas; ++mantissa) {
      const int exponent = kSmallest + mantissa * (kLargest - kSmallest) / (kMantissas - 1);
      const int sign = mantissa % 3 == 0 ? 0x8000 : 0;
      // An odd factor: mantissas do not rise with the exponent.
      const int bits = mantissa * 37 % kMantissas;
      list.push_back(static_cast<std::uint16_t>(sign | exponent << 7 | bits));
    }
    return list;
  }();
  return scales;
}

void for_each_proof_case(const DecodePlan& plan,
                         const std::function<void(const ProofCase& one)>& visit) {
  if (plan.makes_bytes() && plan.request.fold_scale) return for_each_byte_scale_case(plan, visit);
  Cases(plan, visit).run();
}

}  // namespace heddle
