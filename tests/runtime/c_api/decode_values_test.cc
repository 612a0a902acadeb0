// Decode plans, the places in a cache and what lies there: what the C API tells is what C++ has.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/decode/decode_plan.h"
#include "generator/decode/request_json.h"
#include "generator/decode/requests.h"
#include "heddle/inspect/plan.h"
#include "heddle/kv_cache.h"
#include "heddle/model.h"
#include "heddle/statistics.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::expect_rows;
using testing::made;
using testing::number_from;
using testing::spec_from;
using testing::text_from;

TEST(CApiValues, OfPlacesInACache) {
  for (const char* const order : {"hnd", "nhd"}) {
    for (const char* const granularity : {"token", "head", "channel"}) {
      const auto spec = Spec::parse(
          std::string(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":4,"head_dim":64},)"
                      R"("activation":{"dtype":"fp16"},"kv":{"v":{"dtype":"fp16"},"k":{)"
                      R"("dtype":"int4","granularity":")") +
          granularity + R"("},"page_size":64,"order":")" + order + R"("}})");
      const KvTensorLayout k = kv_cache_layout(spec.kv(), 4, 64).k;
      const auto told = json::parse(plan_to_json(resolve(spec, target_from_name("h200"))));
      const json& of_k = told.at("cache").at("k");
      const std::size_t tokens = 64;
      const auto row = [&](std::size_t page, std::size_t page_tokens, std::size_t token,
                           std::size_t heads, std::size_t head) {
        return of_k.at("order") == "hnd" ? (page * heads + head) * page_tokens + token
                                         : (page * page_tokens + token) * heads + head;
      };
      const auto number = [&](const char* name) { return of_k.at(name).get<std::size_t>(); };
      const std::size_t scale_heads = number("scale_heads");
      const std::size_t shared = number("scale_tokens");
      expect_rows({
          {"codes", row(2, tokens, 40, 4, 3) * number("row_bytes"), k.code_offset(2, 64, 40, 3)},
          {"scales",
           row(2, tokens / shared, 40 / shared, scale_heads, scale_heads == 1 ? 0 : 3) *
               number("scale_row_bytes"),
           k.scale_offset(2, 64, 40, 3)},
          {"residual", ((5 * 4 + 3) * shared + 70 % shared) * number("residual_row_bytes"),
           k.residual_offset(5, 70, 3)},
      });
    }
  }
}

TEST(CApiValues, OfDecodePlans) {
  const auto known = json::parse(text_from(heddle_decode_requests)).at("requests");
  const std::vector<NamedDecodeRequest> all = every_decode_request();
  ASSERT_EQ(known.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string request = known[i].at("request").dump();
    const auto plan =
        made(heddle_decode_plan_destroy, heddle_decode_plan_create, request.data(), request.size());
    const DecodePlan same = derive_decode_plan(all[i].request);
    expect_rows(
        {{"name", known[i].at("name"), all[i].name},
         {"cost", known[i].at("instructions_per_weight"), same.instructions_per_weight},
         {"json", text_from(heddle_decode_plan_json, plan.get()), decode_plan_to_json(same)}});
  }
}

// Own codes: what each becomes, for every code in every element.
TEST(CApiValues, OfCodesThatDecodePlansEvaluate) {
  const std::vector<std::string> requests = {
      "{}", R"({"type":"int","order":"permutation","permutation":[7,6,5,4,3,2,1,0]})",
      R"({"kind":"float","bits":6,"exponent_bits":3,"mantissa_bits":2})",
      R"({"kind":"table","dtype":"bf16","table":[0,1,4,9,16,25,36,49,64,81,100,121,144,169,196,225]})",
      R"({"zero_point":"int"})"};
  for (const std::string& request : requests) {
    const auto handle =
        made(heddle_decode_plan_destroy, heddle_decode_plan_create, request.data(), request.size());
    const DecodePlan plan = derive_decode_plan(parse_decode_request(request));
    const std::vector<std::uint32_t> groups(static_cast<std::size_t>(plan.group_words), 0x00530053);
    for (std::uint32_t code = 0; code < 1U << static_cast<unsigned>(plan.request.bits); ++code) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(plan.words));
      for (int i = 0; i < plan.elements(); ++i) write_code(plan, i, code, words);
      std::vector<std::uint16_t> values(plan.bit_of.size());
      EXPECT_EQ(heddle_decode_plan_evaluate(handle.get(), words.data(), words.size(), groups.data(),
                                            groups.size(), values.data(), values.size()),
                HEDDLE_OK);
      EXPECT_EQ(values, evaluate_decode_plan(plan, words, groups)) << request << code;
      if (!groups.empty()) continue;
      const auto wanted = reference_decode(plan.request, code, 0, plan.result_exponent, 1);
      EXPECT_EQ(std::count(values.begin(), values.end(), wanted), plan.elements()) << request;
    }
    EXPECT_EQ(number_from<std::uint64_t>(heddle_decode_plan_prove, handle.get()),
              prove_decode_plan(plan).codes_checked);
  }
}

TEST(CApiValues, OfQuantisedKAndV) {
  const std::vector<std::string> caches = {
      R"("dtype":"int4","granularity":"group","group_size":16)", R"("dtype":"fp8_e4m3")",
      R"("k":{"dtype":"int4","granularity":"channel","group_size":32},"v":{"dtype":"fp16"})"};
  for (const std::string& kv : caches) {
    const auto spec =
        Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":4,"head_dim":64},)"
                    R"("activation":{"dtype":"fp16"},"kv":{)" +
                    kv + R"(,"page_size":64}})");
    const auto handle = spec_from(spec.canonical_json());
    for (const std::int32_t which : {HEDDLE_KV_K, HEDDLE_KV_V}) {
      const KvTensor& tensor = which == HEDDLE_KV_K ? spec.kv().k : spec.kv().v;
      std::vector<float> values(static_cast<std::size_t>(kv_block_tokens(tensor)) * 4 * 64);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
      }
      const heddle_kv_given_scale given = {2, 0};
      const KvToken wanted = quantize_kv(tensor, 4, 64, values.data(), {2, 0});
      KvToken got = {std::vector<std::uint8_t>(wanted.codes.size()),
                     std::vector<std::uint8_t>(wanted.scales.size())};
      EXPECT_EQ(heddle_kv_quantize(handle.get(), which, values.data(), values.size(), &given,
                                   got.codes.data(), got.codes.size(), got.scales.data(),
                                   got.scales.size()),
                HEDDLE_OK)
          << heddle_error_message();
      std::vector<float> back(values.size());
      EXPECT_EQ(heddle_kv_dequantize(handle.get(), which, got.codes.data(), got.codes.size(),
                                     got.scales.data(), got.scales.size(), &given, back.data(),
                                     back.size()),
                HEDDLE_OK);
      expect_rows({{"codes", got.codes, wanted.codes},
                   {"scales", got.scales, wanted.scales},
                   {"values", back, dequantize_kv(tensor, 4, 64, wanted, {2, 0})}});
    }
  }
}

TEST(CApiValues, OfTextsThatTheCallerKeeps) {
  for (const std::string_view words : {"int4:group:64", "int8:head,int4"}) {
    const std::string wanted = kv_block_from_words(words);
    std::string text(wanted.size() + 1, '~');
    std::size_t length = 0;
    EXPECT_EQ(heddle_kv_block_from_words(words.data(), words.size(), nullptr, 0, &length),
              HEDDLE_OK);
    EXPECT_EQ(length, wanted.size());
    EXPECT_EQ(
        heddle_kv_block_from_words(words.data(), words.size(), text.data(), text.size(), &length),
        HEDDLE_OK);
    EXPECT_EQ(text, wanted + "~") << "nothing behind the text is written";
  }
}

TEST(CApiValues, StatisticsAreThoseOfCpp) {
  const std::string wanted = statistics_to_json(statistics());
  std::size_t length = 0;
  EXPECT_EQ(heddle_statistics_json(nullptr, 0, &length), HEDDLE_OK);
  std::string text(length, '~');
  EXPECT_EQ(heddle_statistics_json(text.data(), text.size(), &length), HEDDLE_OK);
  EXPECT_EQ(text, wanted);
}

// Groups; codes that are multiplied as they are, with the sums of their rows; two levels of scales.

}  // namespace
}  // namespace heddle
