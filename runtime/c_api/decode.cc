// The C API of decode plans.
#include "runtime/c_api/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/decode/request_json.h"
#include "generator/decode/requests.h"
#include "heddle/c/plan.h"
#include "runtime/c_api/handles.h"

struct heddle_decode_plan {
  explicit heddle_decode_plan(heddle::DecodePlan plan_) : plan(std::move(plan_)) {}

  heddle::DecodePlan plan;
  heddle::c_api::LazyText json;
};

namespace heddle::c_api {
namespace {

void need_words(std::size_t given, std::size_t wanted, const char* name) {
  if (given == wanted) return;
  refuse("decode.words", fmt::format("{} is {}; the plan has {}", name, given, wanted));
}

std::vector<std::uint32_t> copy_of(const std::uint32_t* words, std::size_t count) {
  return count == 0 ? std::vector<std::uint32_t>()
                    : std::vector<std::uint32_t>(words, words + count);
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
using heddle::c_api::need_words;
using heddle::c_api::text_of;

heddle_status heddle_decode_plan_create(const char* request, size_t request_length,
                                        heddle_decode_plan** plan) {
  return guarded([&] {
    need(plan, "plan");
    *plan = nullptr;
    *plan = new heddle_decode_plan(heddle::derive_decode_plan(
        heddle::parse_decode_request(heddle::c_api::view(request, request_length))));
  });
}

void heddle_decode_plan_destroy(heddle_decode_plan* plan) { delete plan; }

heddle_status heddle_decode_plan_json(const heddle_decode_plan* plan, heddle_text* json) {
  return guarded([&] {
    need(plan, "plan");
    need(json, "json");
    *json = text_of(plan->json.get([&] { return heddle::decode_plan_to_json(plan->plan); }));
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

heddle_status heddle_decode_requests(heddle_text* json) {
  return guarded([&] {
    need(json, "json");
    static const std::string text = heddle::decode_requests_to_json();
    *json = text_of(text);
  });
}
