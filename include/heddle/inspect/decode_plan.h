// Decode plans: how the words of packed weights become pairs of 16-bit floats, or fours of INT8 or
// FP8 codes (docs/decode-plans.md). All functions are pure and may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/export.h"

namespace heddle {

// A list of operations on the words of a unit, the smallest run of whole tiles of weights that
// fills whole words, and the place of each bit. The JSON has all of it.
struct DecodePlan;

// Holds a decode plan; copies share it. Every function below takes one.
class HEDDLE_EXPORT SharedDecodePlan {
 public:
  SharedDecodePlan();                 // without elements: nothing is decoded
  SharedDecodePlan(DecodePlan plan);  // NOLINT(google-explicit-constructor): the library's own

  // `request`: a JSON object, as heddle/c/plan.h describes it. Throws Error(kSpec) with every
  // problem, and Error(kUnsupported, "decode.unsupported") where there is no exact plan.
  static SharedDecodePlan parse(std::string_view request);

  int words() const noexcept;     // 32-bit words of a unit
  int elements() const noexcept;  // weights of a unit
  double instructions_per_weight() const noexcept;
  // Element e has the bits [bits * field_of[e], bits * (field_of[e] + 1)) of a unit, as one
  // little-endian number. Empty where an element is scattered.
  const std::vector<int>& field_of() const noexcept;

  const DecodePlan* operator->() const noexcept { return plan_.get(); }
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the plan.
  operator const DecodePlan&() const noexcept { return *plan_; }

 private:
  std::shared_ptr<const DecodePlan> plan_;  // never null
};

// Executes the plan on the host with bit-exact binary16 or bfloat16 arithmetic, for the words of a
// unit and those of the group ("group_words" in the JSON). Element e of the result has the bits of
// the 16-bit float, or of the code of eight bits. Throws Error(kUsage, "decode.words").
HEDDLE_EXPORT std::vector<std::uint16_t> evaluate_decode_plan(
    const DecodePlan& plan, const std::vector<std::uint32_t>& words,
    const std::vector<std::uint32_t>& group_words);

// A plan beside exact arithmetic: every code in every position, with neighbours all zero, all one
// and random, and against every zero point.
struct DecodeProof {
  std::uint64_t codes_checked = 0;
  std::uint64_t mismatches = 0;
  std::string first_mismatch;
};
HEDDLE_EXPORT DecodeProof prove_decode_plan(const DecodePlan& plan);

// One line per operation: what it does, to which bits, and why that immLut and that magic number.
HEDDLE_EXPORT std::string describe(const DecodePlan& plan);
// The request, every operation and the place of each bit as one JSON object; a stable format.
HEDDLE_EXPORT std::string decode_plan_to_json(const DecodePlan& plan);

}  // namespace heddle
