// The C API of requests for decode plans.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "generator/decode/json.h"
#include "generator/spec/document.h"
#include "runtime/c_api/decode.h"
#include "runtime/c_api/structs.h"

namespace heddle::c_api {
namespace {

// What a request may have of an enumeration, by its words.
template <class Enum, std::size_t kCount>
Enum word_of(const heddle_text& text, const std::array<Enum, kCount>& allowed, const char* name) {
  const std::string_view word = view(text);
  if (word.empty()) return allowed.front();
  std::string words;
  for (const Enum one : allowed) {
    if (to_string(one) == word) return one;
    words += fmt::format("{}\"{}\"", words.empty() ? "" : ", ", to_string(one));
  }
  refuse("decode.request", fmt::format("{} is \"{}\"; allowed: {}", name, excerpt(word), words));
}

const std::vector<NamedDecodeRequest>& known_requests() {
  static const std::vector<NamedDecodeRequest> all = every_decode_request();
  return all;
}

}  // namespace

DType dtype_of(const heddle_text& text) {
  return word_of(text, std::array{DType::kFp16, DType::kBf16, DType::kInt8, DType::kFp8E4m3},
                 "dtype");
}

DecodeRequest to_decode_request(const heddle_decode_request& given) {
  DecodeRequest request;
  request.kind = word_of(
      given.kind, std::array{CodeKind::kInteger, CodeKind::kFloat, CodeKind::kTable}, "kind");
  request.type = word_of(given.type, std::array{WeightType::kUint, WeightType::kInt}, "type");
  request.zero_point =
      word_of(given.zero_point, std::array{ZeroPoint::kNone, ZeroPoint::kInt}, "zero_point");
  request.dtype = dtype_of(given.dtype);
  request.order =
      word_of(given.order,
              std::array{ElementOrder::kFragment, ElementOrder::kLinear, ElementOrder::kAwq,
                         ElementOrder::kEvenOdd, ElementOrder::kTrtllm, ElementOrder::kPermutation,
                         ElementOrder::kByteFragment},
              "order");
  request.zero_order =
      word_of(given.zero_order, std::array{ZeroOrder::kRows, ZeroOrder::kElements}, "zero_order");
  request.bits = given.bits;
  request.fold_power = given.fold_power != 0;
  request.fold_scale = given.fold_scale != 0;
  if (request.kind == CodeKind::kFloat) {
    request.exponent_bits = given.exponent_bits;
    request.mantissa_bits = given.mantissa_bits;
  }
  if (request.kind == CodeKind::kTable) {
    need(given.table, "table");
    need_count(given.table_count, "table_count");
    request.table.assign(given.table, given.table + given.table_count);
  }
  if (request.order == ElementOrder::kPermutation) {
    need(given.permutation, "permutation");
    need_count(given.permutation_count, "permutation_count");
    request.permutation.assign(given.permutation, given.permutation + given.permutation_count);
  }
  if (given.reserved != 0) {
    refuse("api.reserved",
           fmt::format("reserved of heddle_decode_request is {}; allowed: 0", given.reserved));
  }
  return request;
}

// Its arrays belong to the request.
heddle_decode_request to_c_request(const DecodeRequest& request) {
  static_assert(sizeof(int) == sizeof(std::int32_t));
  heddle_decode_request values = {};
  values.kind = text_of_word(to_string(request.kind));
  values.type = text_of_word(to_string(request.type));
  values.zero_point = text_of_word(to_string(request.zero_point));
  values.dtype = text_of_word(to_string(request.dtype));
  values.order = text_of_word(to_string(request.order));
  values.zero_order = text_of_word(to_string(request.zero_order));
  values.table = request.table.empty() ? nullptr : request.table.data();
  values.table_count = request.table.size();
  values.permutation = request.permutation.empty() ? nullptr : request.permutation.data();
  values.permutation_count = request.permutation.size();
  values.bits = request.bits;
  values.exponent_bits = request.exponent_bits;
  values.mantissa_bits = request.mantissa_bits;
  values.fold_power = request.fold_power ? 1 : 0;
  values.fold_scale = request.fold_scale ? 1 : 0;
  return values;
}

}  // namespace heddle::c_api

using heddle::c_api::guarded;
using heddle::c_api::need;
using heddle::c_api::need_index;
using heddle::c_api::text_of;
using heddle::c_api::write_struct;

heddle_status heddle_decode_request_init(heddle_decode_request* request, size_t struct_size) {
  return guarded([&] {
    need(request, "request");
    write_struct(heddle::c_api::to_c_request({}), struct_size, request, "heddle_decode_request");
  });
}

heddle_status heddle_decode_request_count(size_t* count) {
  return guarded([&] {
    need(count, "count");
    *count = heddle::c_api::known_requests().size();
  });
}

heddle_status heddle_decode_request_known(size_t index, heddle_text* name,
                                          heddle_decode_request* request) {
  return guarded([&] {
    need(name, "name");
    const std::vector<heddle::NamedDecodeRequest>& all = heddle::c_api::known_requests();
    need_index(index, all.size(), "index");
    write_struct(heddle::c_api::to_c_request(all[index].request), request, "heddle_decode_request");
    *name = text_of(all[index].name);
  });
}

heddle_status heddle_decode_cost_table(heddle_text* table) {
  return guarded([&] {
    need(table, "table");
    static const std::string text = heddle::decode_cost_table();
    *table = text_of(text);
  });
}

heddle_status heddle_nf4_values(const float** values, size_t* count) {
  return guarded([&] {
    need(values, "values");
    need(count, "count");
    *values = heddle::nf4_values().data();
    *count = heddle::nf4_values().size();
  });
}
