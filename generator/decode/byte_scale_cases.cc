// Codes times integer scales: each scale, zero point and code in each position, among neighbours
// with the smallest, the largest and random products.
#include <random>

#include "generator/decode/integer_code.h"
#include "generator/decode/proof_cases.h"
#include "generator/decode/requests.h"

namespace heddle {
namespace {

class ByteScaleCases {
 public:
  ByteScaleCases(const DecodePlan& plan, const std::function<void(const ProofCase& one)>& visit)
      : plan_(plan), visit_(visit), scales_(proof_byte_scales(plan.request)) {
    one_.words.resize(plan.words);
    one_.group_words.resize(plan.group_words);
    one_.zeros.resize(plan.elements());
    for (const ByteScale& scale : scales_) codes_.push_back(codes_of(scale));
  }

  void run() {
    const auto last = static_cast<unsigned>(scales_.size()) - 1;
    for (unsigned number = 0; number <= last; ++number) {
      // Another scale must not matter: the other row has another one.
      set_scales(number, last - number);
      visit_all_codes();
      set_scales(last - number, number);
      visit_all_codes();
      // Some of them are enough, each zero point among them.
      if (number % kEvery == 0) visit_neighbours();
    }
  }

 private:
  static constexpr unsigned kCodes = 16;
  static constexpr unsigned kEvery = 7;

  std::vector<unsigned> codes_of(const ByteScale& scale) const {
    std::vector<unsigned> codes;
    for (unsigned code = 0; code < kCodes; ++code) {
      if (fits_int8(plan_.request, code, scale.zero, scale.scale)) codes.push_back(code);
    }
    return codes;
  }

  void set_scales(unsigned first, unsigned second) {
    for (int e = 0; e < plan_.elements(); ++e) one_.zeros[e] = e / 4 % 2 == 0 ? first : second;
    const ByteScale& low = scales_[first];
    const ByteScale& high = scales_[second];
    one_.group_words[0] = static_cast<std::uint32_t>(high.scale) << 24 |
                          static_cast<std::uint32_t>(low.scale) << 16 | high.zero << 4 | low.zero;
  }

  const std::vector<unsigned>& codes_at(int element) const { return codes_[one_.zeros[element]]; }
  void write(int element, unsigned i) {
    const std::vector<unsigned>& codes = codes_at(element);
    write_code(plan_, element, codes[i % codes.size()], one_.words);
  }

  // All positions at once, each with another code.
  void visit_all_codes() {
    for (unsigned code = 0; code < kCodes; ++code) {
      for (int e = 0; e < plan_.elements(); ++e) write(e, code + 37 * static_cast<unsigned>(e));
      visit_(one_);
    }
  }

  // One code in each position, another one for each scale.
  void visit_neighbours() {
    for (int at = 0; at < plan_.elements(); ++at) {
      for (int neighbours = 0; neighbours < 3; ++neighbours) {
        for (int e = 0; e < plan_.elements(); ++e) {
          const auto size = static_cast<unsigned>(codes_at(e).size());
          write(e, neighbours == 0   ? 0
                   : neighbours == 1 ? size - 1
                                     : static_cast<unsigned>(random_()));
        }
        write(at, static_cast<unsigned>(random_()));
        visit_(one_);
      }
    }
  }

  const DecodePlan& plan_;
  const std::function<void(const ProofCase& one)>& visit_;
  const std::vector<ByteScale> scales_;
  std::vector<std::vector<unsigned>> codes_;  // [scale], those whose products fit
  ProofCase one_;
  std::mt19937 random_{1};
};

}  // namespace

std::vector<ByteScale> proof_byte_scales(const DecodeRequest& request) {
  const unsigned zeros = request.zero_point == ZeroPoint::kInt ? 1u << request.bits : 1;
  std::vector<ByteScale> list;
  for (int scale = 1; scale <= kLargestByteScale; ++scale) {
    for (unsigned zero = 0; zero < zeros; ++zero) list.push_back({scale, zero});
  }
  return list;
}

void for_each_byte_scale_case(const DecodePlan& plan,
                              const std::function<void(const ProofCase& one)>& visit) {
  ByteScaleCases(plan, visit).run();
}

}  // namespace heddle
