// The C API of decode plans.
#include "runtime/c_api/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "generator/layout/packable.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

struct heddle_decode_plan {
  explicit heddle_decode_plan(heddle::DecodePlan plan_) : plan(std::move(plan_)) {}

  heddle::DecodePlan plan;
  heddle::c_api::LazyText json;
  heddle::c_api::LazyText description;
};

namespace heddle::c_api {
namespace {

void need_words(std::size_t given, std::size_t wanted, const char* name) {
  if (given == wanted) return;
  refuse("decode.words", fmt::format("{} is {}; the plan has {}", name, given, wanted));
}

void need_code(const DecodePlan& plan, std::uint32_t code, const char* name) {
  const std::uint32_t codes = 1u << plan.request.bits;
  if (code < codes) return;
  refuse("decode.code", fmt::format("{} is {}; allowed: 0 to {}", name, code, codes - 1));
}

// Beyond them every result is zero or infinite.
constexpr std::int32_t kMostExponent = 1100;

void need_factors(std::int32_t exponent, double scale) {
  if (exponent < -kMostExponent || exponent > kMostExponent) {
    refuse("decode.exponent", fmt::format("exponent is {}; allowed: -{} to {}", exponent,
                                          kMostExponent, kMostExponent));
  }
  if (!std::isfinite(scale)) {
    refuse("decode.scale", fmt::format("scale is {}; allowed: finite numbers", scale));
  }
}

// The decode plans of a plan's kernels. That of an operation without codes has no elements and is
// left out.
std::vector<DecodePlan> decode_plans(const Plan& plan) {
  std::vector<DecodePlan> plans = decode_plans_of(plan);
  std::erase_if(plans, [](const DecodePlan& one) { return one.bit_of.empty(); });
  return plans;
}

std::vector<std::uint32_t> copy_of(const std::uint32_t* words, std::size_t count) {
  return count == 0 ? std::vector<std::uint32_t>()
                    : std::vector<std::uint32_t>(words, words + count);
}

// The words of a unit, for one of its elements.
std::vector<std::uint32_t> unit_of(const heddle_decode_plan* plan, const std::uint32_t* words,
                                   std::size_t count, std::size_t element) {
  need(plan, "plan");
  need(words, "words");
  need_words(count, static_cast<std::size_t>(plan->plan.words), "word_count");
  need_index(element, plan->plan.bit_of.size(), "element");
  return copy_of(words, count);
}

}  // namespace

std::uint64_t prove(const DecodePlan& plan) {
  const DecodeProof proof = prove_decode_plan(plan);
  if (proof.mismatches == 0) return proof.codes_checked;
  throw Error(ErrorCategory::kInternal, "decode.mismatch",
              fmt::format("the decode plan is wrong: {} of {} codes, first {}", proof.mismatches,
                          proof.codes_checked, proof.first_mismatch));
}

}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_index;
using heddle::c_api::need_words;
using heddle::c_api::write_struct;

heddle_status heddle_decode_plan_create(const heddle_decode_request* request,
                                        heddle_decode_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    *plan = nullptr;
    const heddle_decode_request given =
        heddle::c_api::read_struct(request, "heddle_decode_request");
    *plan =
        new heddle_decode_plan(heddle::derive_decode_plan(heddle::c_api::to_decode_request(given)));
  });
}

heddle_status heddle_decode_plan_create_for_spec(const char* spec, size_t spec_length,
                                                 const char* dtype, size_t dtype_length,
                                                 heddle_decode_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    *plan = nullptr;
    const heddle::Spec parsed = heddle::c_api::spec_with_weight(spec, spec_length);
    heddle::expect_packable(parsed);
    const heddle::DType wanted = heddle::c_api::dtype_of({dtype, dtype_length});
    *plan = new heddle_decode_plan(
        heddle::derive_decode_plan(heddle::decode_request(parsed.weight(), wanted)));
  });
}

void heddle_decode_plan_destroy(heddle_decode_plan* plan) { delete plan; }

heddle_status heddle_plan_decode_count(const heddle_plan* plan, size_t* count) {
  return guarded([&] {
    need(plan, "plan");
    need(count, "count");
    *count = heddle::c_api::decode_plans(plan->plan).size();
  });
}

heddle_status heddle_decode_plan_of_plan(const heddle_plan* plan, size_t index,
                                         heddle_decode_plan** decode) {
  return guarded([&] {
    need(decode, "decode");
    *decode = nullptr;
    need(plan, "plan");
    std::vector<heddle::DecodePlan> plans = heddle::c_api::decode_plans(plan->plan);
    need_index(index, plans.size(), "index");
    *decode = new heddle_decode_plan(std::move(plans[index]));
  });
}

heddle_status heddle_decode_plan_request(const heddle_decode_plan* plan,
                                         heddle_decode_request* request) {
  return guarded([&] {
    need(plan, "plan");
    write_struct(heddle::c_api::to_c_request(plan->plan.request), request, "heddle_decode_request");
  });
}

heddle_status heddle_decode_plan_get(const heddle_decode_plan* plan,
                                     heddle_decode_plan_info* info) {
  return guarded([&] {
    need(plan, "plan");
    const heddle::DecodePlan& one = plan->plan;
    heddle_decode_plan_info values = {};
    values.words = static_cast<std::size_t>(one.words);
    values.group_words = static_cast<std::size_t>(one.group_words);
    values.elements = one.bit_of.size();
    values.op_count = one.ops.size();
    values.group_op_count = one.group_ops.size();
    values.instructions_per_weight = one.instructions_per_weight;
    values.result_exponent = one.result_exponent;
    write_struct(values, info, "heddle_decode_plan_info");
  });
}

heddle_status heddle_decode_plan_json(const heddle_decode_plan* plan, heddle_text* json) {
  return guarded([&] {
    need(plan, "plan");
    need(json, "json");
    *json = plan->json.get([&] { return heddle::decode_plan_to_json(plan->plan); });
  });
}

heddle_status heddle_decode_plan_description(const heddle_decode_plan* plan, heddle_text* text) {
  return guarded([&] {
    need(plan, "plan");
    need(text, "text");
    *text = plan->description.get([&] { return heddle::describe(plan->plan); });
  });
}

heddle_status heddle_decode_plan_prove(const heddle_decode_plan* plan, uint64_t* codes_checked) {
  return guarded([&] {
    need(plan, "plan");
    need(codes_checked, "codes_checked");
    *codes_checked = heddle::c_api::prove(plan->plan);
  });
}

heddle_status heddle_decode_plan_evaluate(const heddle_decode_plan* plan, const uint32_t* words,
                                          size_t word_count, const uint32_t* group_words,
                                          size_t group_word_count, uint16_t* values,
                                          size_t value_count) {
  return guarded([&] {
    need(plan, "plan");
    need(words, "words");
    need(values, "values");
    const heddle::DecodePlan& one = plan->plan;
    need_words(word_count, static_cast<std::size_t>(one.words), "word_count");
    need_words(group_word_count, static_cast<std::size_t>(one.group_words), "group_word_count");
    need_words(value_count, one.bit_of.size(), "value_count");
    if (group_word_count > 0) need(group_words, "group_words");
    std::ranges::copy(
        heddle::evaluate_decode_plan(one, heddle::c_api::copy_of(words, word_count),
                                     heddle::c_api::copy_of(group_words, group_word_count)),
        values);
  });
}

heddle_status heddle_decode_plan_read_code(const heddle_decode_plan* plan, const uint32_t* words,
                                           size_t word_count, size_t element, uint32_t* code) {
  return guarded([&] {
    need(code, "code");
    const std::vector<std::uint32_t> unit =
        heddle::c_api::unit_of(plan, words, word_count, element);
    *code = heddle::read_code(plan->plan, unit, static_cast<int>(element));
  });
}

heddle_status heddle_decode_plan_write_code(const heddle_decode_plan* plan, uint32_t* words,
                                            size_t word_count, size_t element, uint32_t code) {
  return guarded([&] {
    std::vector<std::uint32_t> unit = heddle::c_api::unit_of(plan, words, word_count, element);
    heddle::c_api::need_code(plan->plan, code, "code");
    heddle::write_code(plan->plan, static_cast<int>(element), code, unit);
    std::ranges::copy(unit, words);
  });
}

heddle_status heddle_decode_plan_reference(const heddle_decode_plan* plan, uint32_t code,
                                           uint32_t zero, int32_t exponent, double scale,
                                           uint16_t* value) {
  return guarded([&] {
    need(plan, "plan");
    need(value, "value");
    const heddle::DecodePlan& one = plan->plan;
    heddle::c_api::need_code(one, code, "code");
    if (one.request.zero_point == heddle::ZeroPoint::kInt) {
      heddle::c_api::need_code(one, zero, "zero");
    }
    heddle::c_api::need_factors(exponent, scale);
    *value = heddle::reference_decode(one.request, code, zero, exponent, scale);
  });
}
