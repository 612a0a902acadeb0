// Every code in every position: all positions at once, and each among neighbours that would show.
#include "generator/decode/proof_cases.h"

#include <random>

namespace heddle {
namespace {

class Cases {
 public:
  Cases(const DecodePlan& plan, const std::function<void(const ProofCase& one)>& visit)
      : plan_(plan), visit_(visit), codes_(1u << plan.request.bits) {
    one_.words.resize(plan.words);
    one_.zero_words.resize(plan.zero_words);
    one_.zeros.resize(plan.elements());
  }

  void run() {
    const unsigned zero_codes = with_zeros() ? codes_ : 1;
    for (unsigned zero = 0; zero < zero_codes; ++zero) {
      // Another zero point must not matter: the other row, or the next element, has another one.
      set_zeros(zero, codes_ - 1 - zero);
      visit_all_codes(zero);
      set_zeros(zero, zero);
      visit_all_codes(codes_ - 1 - zero);
      // The neighbours cannot see the zero points; a few of these are enough.
      if (codes_ <= 16 || zero == 0 || zero == codes_ / 2 || zero == codes_ - 1) visit_neighbours();
    }
  }

 private:
  bool with_zeros() const { return plan_.request.zero_point == ZeroPoint::kInt; }
  bool by_element() const { return plan_.request.zero_order == ZeroOrder::kElements; }

  // The zero points of row g and row g + 8, or of even and odd elements.
  void set_zeros(unsigned first, unsigned second) {
    if (!with_zeros()) return;
    for (int e = 0; e < plan_.elements(); ++e) {
      const bool is_first = by_element() ? e % 2 == 0 : e / 2 % 2 == 0;
      one_.zeros[e] = is_first ? first : second;
      if (by_element()) write_code(plan_, e, one_.zeros[e], one_.zero_words);
    }
    if (by_element()) return;
    const unsigned fields = second << plan_.request.bits | first;
    one_.zero_words[0] = fields << 16 | fields;
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

void for_each_proof_case(const DecodePlan& plan,
                         const std::function<void(const ProofCase& one)>& visit) {
  Cases(plan, visit).run();
}

}  // namespace heddle
