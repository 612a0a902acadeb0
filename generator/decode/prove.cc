// The proof of a decode plan: it equals exact arithmetic on every code in every position.
#include <fmt/format.h>

#include "generator/decode/float16.h"
#include "generator/decode/integer_code.h"
#include "generator/decode/proof_cases.h"
#include "generator/decode/requests.h"

namespace heddle {

ProofJudge::ProofJudge(const DecodePlan& plan) : plan_(plan) {
  const unsigned codes = 1u << plan.request.bits;
  const auto add_codes = [&](unsigned zero, double scale) {
    for (unsigned code = 0; code < codes; ++code) {
      want_.push_back(reference_decode(plan.request, code, zero, plan.result_exponent, scale));
    }
  };
  if (plan.request.fold_scale && plan.makes_bytes()) {
    for (const ByteScale& one : proof_byte_scales(plan.request)) {
      for (unsigned code = 0; code < codes; ++code) {
        const bool fits = fits_int8(plan.request, code, one.zero, one.scale);
        want_.push_back(fits ? reference_decode(plan.request, code, one.zero, 0, one.scale) : 0);
      }
    }
    return;
  }
  if (plan.request.fold_scale) {
    for (const std::uint16_t scale : proof_scales()) {
      add_codes(0, float16_to_double(float16_format(plan.request.dtype), scale));
    }
    return;
  }
  const unsigned zero_codes = plan.request.zero_point == ZeroPoint::kInt ? codes : 1;
  for (unsigned zero = 0; zero < zero_codes; ++zero) add_codes(zero, 1);
}

// All elements are compared: the neighbours are codes, too.
void ProofJudge::check(const ProofCase& one, const std::uint16_t* got) {
  for (int e = 0; e < plan_.elements(); ++e) {
    const unsigned code = read_code(plan_, one.words, e);
    const std::uint16_t want = want_[(one.zeros[e] << plan_.request.bits) + code];
    ++proof_.codes_checked;
    if (got[e] != want && proof_.mismatches++ == 0) note(one, e, code, got[e], want);
  }
}

void ProofJudge::note(const ProofCase& one, int element, unsigned code, std::uint16_t got,
                      std::uint16_t want) {
  std::string words;
  for (const std::uint32_t word : one.words) words += fmt::format(" 0x{:08x}", word);
  proof_.first_mismatch = fmt::format(
      "words{}, element {}, code {}, zero point or scale {}: got 0x{:04x}, want 0x{:04x}", words,
      element, code, one.zeros[element], got, want);
}

DecodeProof prove_decode_plan(const DecodePlan& plan) {
  ProofJudge judge(plan);
  for_each_proof_case(plan, [&](const ProofCase& one) {
    judge.check(one, evaluate_decode_plan(plan, one.words, one.group_words).data());
  });
  return judge.proof();
}

}  // namespace heddle
