#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "generator/decode/decode_plan.h"
#include "generator/decode/json.h"
#include "generator/decode/requests.h"

namespace heddle {
namespace {

// What decoding costs in each of the ways that kernels ask for it.
constexpr std::size_t kColumns = 8;
using Costs = std::array<std::string, kColumns>;
constexpr std::string_view kTitles =
    "| source | order | FP16 | FP16, power to scale | BF16 | BF16, power to scale | BF16, times "
    "scale | INT8 | INT8, times scale | e4m3 |\n| --- | --- | --: | --: | --: | --: | --: | --: | "
    "--: | "
    "--: |\n";

std::size_t column_of(const DecodeRequest& request) {
  constexpr std::size_t kTimesScale = 4, kInt8 = 5, kE4m3 = 7;
  if (request.dtype == DType::kInt8) return kInt8 + (request.fold_scale ? 1 : 0);
  if (request.dtype == DType::kFp8E4m3) return kE4m3;
  if (request.fold_scale) return kTimesScale;
  return (request.dtype == DType::kFp16 ? 0 : 2) + (request.fold_power ? 1 : 0);
}

constexpr bool kMayHaveZeros[kColumns] = {true, true, true, true, false, true, true, true};

std::string source_of(const DecodeRequest& request) {
  if (request.kind == CodeKind::kTable) return "nf4";
  if (request.kind == CodeKind::kInteger) {
    return std::string(to_string(request.type)) + std::to_string(request.bits);
  }
  if (request.bits == 16) return "16 bits";
  return fmt::format("e{}m{}", request.exponent_bits, request.mantissa_bits);
}

std::string zeros_of(const DecodeRequest& request) {
  if (request.zero_point == ZeroPoint::kNone) return "";
  return request.zero_order == ZeroOrder::kRows ? " - zero point" : " - zero point by element";
}

// One source in orders of the same costs, or several sources in the same orders.
struct Row {
  std::string source;
  std::string zeros;
  std::string orders;
  Costs costs;
};

void append(std::string_view word, std::string* list) {
  if (!list->empty()) *list += ", ";
  *list += word;
}

// A row for each source, kind of zero points and order.
std::vector<Row> single_rows() {
  std::vector<Row> rows;
  for (const NamedDecodeRequest& one : every_decode_request()) {
    const DecodeRequest& request = one.request;
    Row row{source_of(request), zeros_of(request), std::string(to_string(request.order)), {}};
    auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& other) {
      return other.source == row.source && other.zeros == row.zeros && other.orders == row.orders;
    });
    if (at == rows.end()) at = rows.insert(rows.end(), std::move(row));
    at->costs[column_of(request)] =
        fmt::format("{:.3f}", derive_decode_plan(request).instructions_per_weight);
  }
  return rows;
}

// Whether zero points cost nothing: the table is silent about them then.
bool costs_no_more(const Row& row, const std::vector<Row>& rows) {
  if (row.zeros.empty()) return false;
  return std::any_of(rows.begin(), rows.end(), [&](const Row& other) {
    if (other.source != row.source || other.orders != row.orders || !other.zeros.empty()) {
      return false;
    }
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (kMayHaveZeros[column] && other.costs[column] != row.costs[column]) return false;
    }
    return true;
  });
}

// Joins rows with the same costs: first the orders of a source, then the sources, in one kind of
// zero points, that have the same orders.
std::vector<Row> joined_rows(const std::vector<Row>& rows) {
  std::vector<Row> by_source;
  for (const Row& row : rows) {
    if (costs_no_more(row, rows)) continue;
    const auto same = std::find_if(by_source.begin(), by_source.end(), [&](const Row& other) {
      return other.source == row.source && other.zeros == row.zeros && other.costs == row.costs;
    });
    if (same != by_source.end()) {
      append(row.orders, &same->orders);
    } else {
      by_source.push_back(row);
    }
  }
  std::vector<Row> joined;
  for (const Row& row : by_source) {
    const auto same = std::find_if(joined.begin(), joined.end(), [&](const Row& other) {
      return other.orders == row.orders && other.costs == row.costs;
    });
    if (same != joined.end()) {
      append(row.source + row.zeros, &same->source);
    } else {
      joined.push_back({row.source + row.zeros, "", row.orders, row.costs});
    }
  }
  return joined;
}

}  // namespace

std::string decode_cost_table() {
  std::string text(kTitles);
  for (const Row& row : joined_rows(single_rows())) {
    text += fmt::format("| {} | {} |", row.source, row.orders);
    for (const std::string& cost : row.costs) {
      text += fmt::format(" {} |", cost.empty() ? "-" : cost);
    }
    text += '\n';
  }
  return text;
}

}  // namespace heddle
