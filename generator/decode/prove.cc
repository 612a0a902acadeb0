// The proof of a decode plan: it equals exact arithmetic on every code in every position.
#include <fmt/format.h>

#include <random>

#include "heddle/decode_plan.h"

namespace heddle {
namespace {

using Words = std::vector<std::uint32_t>;

class Proof {
 public:
  explicit Proof(const DecodePlan& plan)
      : plan_(plan),
        codes_(1u << plan.request.bits),
        with_zeros_(plan.request.zero_point == ZeroPoint::kInt),
        words_(plan.words),
        zero_words_(plan.zero_words),
        zeros_(plan.elements()) {
    for (unsigned zero = 0; zero < (with_zeros_ ? codes_ : 1); ++zero) {
      for (unsigned code = 0; code < codes_; ++code) {
        want_.push_back(reference_decode(plan.request, code, zero, plan.result_exponent));
      }
    }
  }

  DecodeProof run() {
    for (unsigned zero = 0; zero < (with_zeros_ ? codes_ : 1); ++zero) {
      // Another zero point must not matter: the other row, or the next element, has another one.
      set_zeros(zero, codes_ - 1 - zero);
      check_all_codes(zero);
      set_zeros(zero, zero);
      check_all_codes(codes_ - 1 - zero);
      // The neighbours cannot see the zero points; a few of these are enough.
      if (codes_ <= 16 || zero == 0 || zero == codes_ / 2 || zero == codes_ - 1) check_neighbours();
    }
    return proof_;
  }

 private:
  bool by_element() const { return plan_.request.zero_order == ZeroOrder::kElements; }

  // The zero points of row g and row g + 8, or of even and odd elements.
  void set_zeros(unsigned first, unsigned second) {
    if (!with_zeros_) return;
    for (int e = 0; e < plan_.elements(); ++e) {
      const bool is_first = by_element() ? e % 2 == 0 : e / 2 % 2 == 0;
      zeros_[e] = is_first ? first : second;
      if (by_element()) write_code(plan_, e, zeros_[e], zero_words_);
    }
    if (by_element()) return;
    const unsigned fields = second << plan_.request.bits | first;
    zero_words_[0] = fields << 16 | fields;
  }

  // Every code in every position, all positions at once, each with another code.
  void check_all_codes(unsigned start) {
    for (unsigned code = 0; code < codes_; ++code) {
      for (int e = 0; e < plan_.elements(); ++e) {
        write_code(plan_, e, (code + start + 37 * static_cast<unsigned>(e)) % codes_, words_);
      }
      check_words();
    }
  }

  // Every code in every position among neighbours that are all zero, all one, and random.
  void check_neighbours() {
    for (int e = 0; e < plan_.elements(); ++e) {
      for (unsigned code = 0; code < codes_; ++code) {
        for (int neighbours = 0; neighbours < 4; ++neighbours) {
          for (std::uint32_t& word : words_) {
            word = neighbours == 0   ? 0u
                   : neighbours == 1 ? ~0u
                                     : static_cast<std::uint32_t>(random_());
          }
          write_code(plan_, e, code, words_);
          check_words();
        }
      }
    }
  }

  // All elements are compared: the neighbours are codes, too.
  void check_words() {
    const std::vector<std::uint16_t> got = evaluate_decode_plan(plan_, words_, zero_words_);
    for (int e = 0; e < plan_.elements(); ++e) {
      const unsigned code = read_code(plan_, words_, e);
      const std::uint16_t want = want_[zeros_[e] * codes_ + code];
      ++proof_.codes_checked;
      if (got[e] != want && proof_.mismatches++ == 0) note(e, code, got[e], want);
    }
  }

  void note(int e, unsigned code, std::uint16_t got, std::uint16_t want) {
    std::string words;
    for (const std::uint32_t word : words_) words += fmt::format(" 0x{:08x}", word);
    proof_.first_mismatch =
        fmt::format("words{}, element {}, code {}, zero point {}: got 0x{:04x}, want 0x{:04x}",
                    words, e, code, zeros_[e], got, want);
  }

  const DecodePlan& plan_;
  const unsigned codes_;
  const bool with_zeros_;
  Words words_;
  Words zero_words_;
  std::vector<unsigned> zeros_;      // [element]
  std::vector<std::uint16_t> want_;  // [zero point][code]
  std::mt19937 random_{1};
  DecodeProof proof_;
};

}  // namespace

DecodeProof prove_decode_plan(const DecodePlan& plan) { return Proof(plan).run(); }

}  // namespace heddle
