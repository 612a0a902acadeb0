// Packed weights and tuned tables: what the C API tells is what C++ has.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"
#include "heddle/weights.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::expect_rows;
using testing::info_from;
using testing::made;
using testing::number_from;
using testing::plan_from;
using testing::Row;
using testing::text_from;

struct Packing {
  const char* shape_and_weight;
  const char* rest;  // of the gemm
};
constexpr Packing kPackings[] = {
    {R"("shape":{"n":64,"k":256},"weight":{"bits":4,"group_size":128})",
     R"("activation":{"dtype":"fp16"})"},
    {R"("shape":{"n":16,"k":128},"weight":{"bits":8,"type":"int","group_size":-1,)"
     R"("scale_dtype":"fp32","interleave":"swizzle_128b"})",
     R"("activation":{"dtype":"int8","granularity":"token"},"output":{"dtype":"bf16"})"},
    {R"("shape":{"n":16,"k":128},"weight":{"bits":4,"group_size":32,"scale_dtype":"int8",)"
     R"("channel_scale":"fp16","interleave":"byte_fragment"})",
     R"("activation":{"dtype":"int8","granularity":"token"},"output":{"dtype":"bf16"})"}};

std::vector<std::uint8_t> array_of(const void* data, std::size_t size) {
  const auto* const begin = static_cast<const std::uint8_t*>(data);
  return data == nullptr ? std::vector<std::uint8_t>()
                         : std::vector<std::uint8_t>(begin, begin + size);
}

std::vector<Row> array_rows(const heddle_quantized_weights& arrays, const QuantizedWeights& plain) {
  return {{"codes", array_of(arrays.codes, arrays.codes_bytes), plain.codes},
          {"scales", array_of(arrays.scales, arrays.scales_bytes), plain.scales},
          {"zeros", array_of(arrays.zeros, arrays.zeros_bytes), plain.zeros},
          {"tensor_scale", arrays.tensor_scale, plain.tensor_scale},
          {"channel_scales", array_of(arrays.channel_scales, arrays.channel_scales_bytes),
           plain.channel_scales}};
}

TEST(CApiValues, OfPackedWeights) {
  for (const Packing& packing : kPackings) {
    const std::string quantize = std::string(R"({"heddle":1,"op":"quantize_weight",)") +
                                 packing.shape_and_weight + R"(,"input":{"dtype":"fp16"}})";
    const std::string text = std::string(R"({"heddle":1,"op":"gemm",)") + packing.shape_and_weight +
                             "," + packing.rest + "}";
    const auto spec = Spec::parse(quantize);
    const auto gemm = Spec::parse(text);
    const MatrixShape shape = spec.weight_shape();
    std::vector<std::uint16_t> w(static_cast<std::size_t>(shape.n * shape.k));
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] = static_cast<std::uint16_t>(0x3000 + i % 997 + i % 2 * 0x8000);
    }
    const QuantizedWeights plain = quantize_weights(spec.weight_op(), w);
    const std::vector<std::uint8_t> packed = pack_weights(gemm.gemm(), plain);

    const auto quantised = made(heddle_plain_weights_destroy, heddle_quantize_weights,
                                quantize.data(), quantize.size(), w.data(), 2 * w.size());
    const auto arrays =
        info_from<heddle_quantized_weights>(heddle_plain_weights_get, quantised.get());
    std::vector<std::uint8_t> bytes(packed.size());
    EXPECT_EQ(heddle_pack_weights(text.data(), text.size(), &arrays, bytes.data(), bytes.size()),
              HEDDLE_OK)
        << heddle_error_message();
    const auto unpacked = made(heddle_plain_weights_destroy, heddle_unpack_weights, text.data(),
                               text.size(), bytes.data(), bytes.size());
    const auto back = info_from<heddle_quantized_weights>(heddle_plain_weights_get, unpacked.get());
    expect_rows(array_rows(arrays, plain));
    expect_rows(array_rows(back, unpack_weights(gemm.gemm(), packed.data(), packed.size())));
    expect_rows({
        {"packed", bytes, packed},
        {"packed_bytes", number_from<std::size_t>(heddle_packed_bytes, text.data(), text.size()),
         packed.size()},
        {"layout_version",
         number_from<std::int32_t>(heddle_layout_version, text.data(), text.size()),
         kLayoutVersion},
        {"check_layout_version",
         heddle_check_layout_version(text.data(), text.size(), kLayoutVersion), HEDDLE_OK},
        {"check_packed_weights",
         heddle_check_packed_weights(text.data(), text.size(), quantize.data(), quantize.size()),
         HEDDLE_OK},
    });
  }
  for (const std::string_view word :
       {"fp16", "bf16", "fp32", "e8m0", "e4m3", "int8", "fp8_e4m3", "fp8_e5m2"}) {
    const std::size_t size = word == "fp32" ? 4 : word.substr(word.size() - 2) == "16" ? 2 : 1;
    expect_rows({{std::string(word),
                  number_from<std::int32_t>(heddle_dtype_bytes, word.data(), word.size()), size}});
  }
}

TEST(CApiValues, OfTunedTables) {
  const auto shipped = made(heddle_tuned_tables_destroy, heddle_tuned_tables_shipped);
  const std::vector<TunedTable>& tables = TunedTables::shipped().tables();
  ASSERT_EQ(number_from<std::size_t>(heddle_tuned_tables_count, shipped.get()), tables.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string text = text_from(heddle_tuned_tables_json, shipped.get(), i);
    const heddle_text one = testing::text_of(text);
    const auto alone =
        made(heddle_tuned_tables_destroy, heddle_tuned_tables_create, nullptr, &one, 1);
    const auto merged =
        made(heddle_tuned_tables_destroy, heddle_tuned_tables_create, shipped.get(), &one, 1);
    expect_rows({{"json", text, tables[i].to_json()},
                 {"read again", text_from(heddle_tuned_tables_json, alone.get(), 0), text},
                 {"merged", text_from(heddle_tuned_tables_json, merged.get(), i), text}});
  }
  json versions = json::object();
  json cost_versions = json::object();
  const auto families = json::parse(text_from(heddle_tuned_families)).at("families");
  for (const json& one : families) {
    versions[one.at("name").get<std::string>()] = one.at("version");
    if (one.at("cost_version") != 0) {
      cost_versions[one.at("name").get<std::string>()] = one.at("cost_version");
    }
  }
  expect_rows({{"families", versions, tuned_family_versions()},
               {"cost families", cost_versions, tuned_cost_versions()}});

  // A plan follows the tables that it is made with.
  const auto none =
      made(heddle_tuned_tables_destroy, heddle_tuned_tables_create, nullptr, nullptr, 0);
  const auto spec = Spec::parse(testing::kGemmText);
  const Target h100 = target_from_name("h100");
  const auto text_with = [](const heddle_tuned_tables* set) {
    return text_from(heddle_plan_json, plan_from(testing::kGemmText, "h100", set).get());
  };
  expect_rows({
      {"shipped", text_with(shipped.get()), plan_to_json(resolve(spec, h100))},
      {"by default", text_with(nullptr), plan_to_json(resolve(spec, h100))},
      {"none", text_with(none.get()), plan_to_json(resolve(spec, h100, TunedTables()))},
  });
}

}  // namespace
}  // namespace heddle
