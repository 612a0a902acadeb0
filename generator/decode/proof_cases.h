// What a decode plan is proven on, the same for the host's evaluator and for compiled code.
#ifndef HEDDLE_GENERATOR_DECODE_PROOF_CASES_H_
#define HEDDLE_GENERATOR_DECODE_PROOF_CASES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "generator/decode/decode_plan.h"

namespace heddle {

// One unit of packed weights.
struct ProofCase {
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> group_words;
  // [element]: the code of its zero point, or the number of its scale, to INT8 the number of both;
  // 0 where there is neither.
  std::vector<unsigned> zeros;
};

// The scales of plans with fold_scale: bfloat16 numbers of either sign, of all mantissas, as large
// as products remain finite, and as small as they remain normal.
const std::vector<std::uint16_t>& proof_scales();

// As above, to INT8: each scale, 1 to 127, with each zero point, if there are any.
struct ByteScale {
  int scale = 1;
  unsigned zero = 0;  // its code
};
std::vector<ByteScale> proof_byte_scales(const DecodeRequest& request);
// The cases of such a plan. Codes whose products are no INT8 do not occur.
void for_each_byte_scale_case(const DecodePlan& plan,
                              const std::function<void(const ProofCase& one)>& visit);

// Every code in every position, with neighbours all zero, all one and random; every code against
// every zero point or scale. The order is the same on every call. `visit` must not keep the
// reference.
void for_each_proof_case(const DecodePlan& plan,
                         const std::function<void(const ProofCase& one)>& visit);

// Compares what came out of the cases with exact arithmetic.
class ProofJudge {
 public:
  // `plan` must outlive the judge.
  explicit ProofJudge(const DecodePlan& plan);

  // `got` holds the bits of plan.elements() floats.
  void check(const ProofCase& one, const std::uint16_t* got);

  const DecodeProof& proof() const noexcept { return proof_; }

 private:
  void note(const ProofCase& one, int element, unsigned code, std::uint16_t got,
            std::uint16_t want);

  const DecodePlan& plan_;
  std::vector<std::uint16_t> want_;  // [zero point or scale][code]
  DecodeProof proof_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_PROOF_CASES_H_
