// What the tables of the C API's tests are made of.
#ifndef HEDDLE_TESTS_RUNTIME_C_API_ROWS_H_
#define HEDDLE_TESTS_RUNTIME_C_API_ROWS_H_

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/heddle.h"

namespace heddle::testing {

// More of anything than there can be.
inline constexpr std::size_t kAbsurd = SIZE_MAX;

// What C gives beside the value that C++ has.
struct Row {
  std::string what;
  nlohmann::json c;
  nlohmann::json cpp;
};

inline void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(row.c, row.cpp) << row.what;
}

// A call, and how it must fail.
struct Refusal {
  const char* what;
  heddle_status got;
  std::string code;  // as it was right after the call
  heddle_status status;
  std::string wanted;
};

inline void expect_refusals(const std::vector<Refusal>& rows) {
  for (const Refusal& row : rows) {
    EXPECT_EQ(row.got, row.status) << row.what;
    EXPECT_EQ(row.code, row.wanted) << row.what;
  }
}

// A row for a call that must fail with this status and code.
#define HEDDLE_REFUSED(call, status, code) \
  ::heddle::testing::refusal(#call, (call), HEDDLE_ERROR_##status, code)
inline Refusal refusal(const char* what, heddle_status got, heddle_status status,
                       std::string wanted) {
  return {what, got, heddle_error_code(), status, std::move(wanted)};
}

// A text as the two parameters that functions take.
#define HEDDLE_TEXT(text) std::string_view(text).data(), std::string_view(text).size()

// A text that Heddle gave: it ends in a zero that its length does not count.
inline std::string string_of(const heddle_text& text) {
  EXPECT_EQ(std::string_view(text.data).size(), text.length);
  return {text.data, text.length};
}
inline heddle_text text_of(std::string_view text) { return {text.data(), text.size()}; }

// What `function(arguments..., &text)` gives.
template <class Function, class... Arguments>
std::string text_from(Function function, Arguments... arguments) {
  heddle_text text = {nullptr, 0};
  EXPECT_EQ(function(arguments..., &text), HEDDLE_OK) << heddle_error_message();
  return text.data == nullptr ? "" : string_of(text);
}

// What `function(arguments..., &number)` gives.
template <class Number, class Function, class... Arguments>
Number number_from(Function function, Arguments... arguments) {
  Number number{};
  EXPECT_EQ(function(arguments..., &number), HEDDLE_OK) << heddle_error_message();
  return number;
}

// The struct that `function(arguments..., &info)` fills.
template <class Info, class Function, class... Arguments>
Info info_from(Function function, Arguments... arguments) {
  Info info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(function(arguments..., &info), HEDDLE_OK) << heddle_error_message();
  return info;
}

// The handle that `function(arguments..., &handle)` makes, for as long as the result lives.
template <class Made, class Function, class... Arguments>
std::unique_ptr<Made, void (*)(Made*)> made(void (*destroy)(Made*), Function function,
                                            Arguments... arguments) {
  Made* handle = nullptr;
  EXPECT_EQ(function(arguments..., &handle), HEDDLE_OK) << heddle_error_message();
  return {handle, destroy};
}

inline auto spec_from(std::string_view json) {
  return made(heddle_spec_destroy, heddle_spec_create, json.data(), json.size());
}
inline auto target_from(std::string_view name) {
  return made(heddle_target_destroy, heddle_target_create, name.data(), name.size());
}
inline auto plan_from(std::string_view spec, std::string_view target = "h200",
                      const heddle_tuned_tables* tables = nullptr) {
  return made(heddle_plan_destroy, heddle_plan_create, target_from(target).get(), tables,
              spec.data(), spec.size());
}

inline constexpr std::string_view kGemmText =
    R"({"heddle":1,"op":"gemm","shape":{"n":256,"k":512,"m":[1,8]},)"
    R"("weight":{"bits":4},"activation":{"dtype":"fp16"}})";
inline constexpr std::string_view kAppendText =
    R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":4,"head_dim":64},)"
    R"("activation":{"dtype":"fp16"},"kv":{"dtype":"int4","page_size":16}})";
inline constexpr std::string_view kAttentionText =
    R"({"heddle":1,"op":"decode_attention","shape":{"heads":8,"kv_heads":4,"head_dim":64},)"
    R"("activation":{"dtype":"fp16"},"kv":{"dtype":"int4","page_size":16}})";
inline constexpr std::string_view kRowsText =
    R"({"heddle":1,"op":"row_transform","shape":{"columns":256,"m":[1,64]},)"
    R"("input":{"dtype":"fp16"},"norm":{"type":"rms","epsilon":1e-5}})";
inline constexpr std::string_view kMoeText =
    R"({"heddle":1,"op":"moe","shape":{"hidden":256,"intermediate":128,"experts":8,"top_k":2,)"
    R"("tokens":[1,8]},"weight":{"gate_up":{"bits":4},"down":{"bits":8,"zero_point":"int"}},)"
    R"("activation":{"dtype":"fp16"},"epilogue":{"activation":"silu","gated":true}})";
inline constexpr std::string_view kDequantizeText =
    R"({"heddle":1,"op":"dequantize","shape":{"n":64,"k":256},"weight":{"bits":4},)"
    R"("source":{"format":"gptq"},"output":{"dtype":"fp16"}})";
inline constexpr std::string_view kRepackText =
    R"({"heddle":1,"op":"repack","shape":{"n":64,"k":256},"weight":{"bits":4},)"
    R"("source":{"format":"gptq"}})";
inline constexpr std::string_view kQuantizeText =
    R"({"heddle":1,"op":"quantize_weight","shape":{"n":64,"k":256},)"
    R"("weight":{"bits":4,"group_size":128},"input":{"dtype":"fp16"}})";

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_C_API_ROWS_H_
