#include "generator/decode/request_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "generator/decode/json.h"
#include "generator/decode/requests.h"
#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "generator/spec/near_miss.h"

namespace heddle {
namespace {

const std::vector<std::string_view> kMembers = {
    "kind",        "bits",       "type",          "zero_point",    "dtype",
    "order",       "zero_order", "exponent_bits", "mantissa_bits", "table",
    "permutation", "fold_power", "fold_scale"};

constexpr std::size_t kMostElements = 1024;

// The members of a request's object, one by one. What is wrong goes to the findings, and what
// would be set stays as it is.
class RequestMembers {
 public:
  RequestMembers(const Node& object, Findings* findings) : object_(object), findings_(*findings) {
    for (const std::string& key : object.keys) {
      if (std::ranges::find(kMembers, key) != kMembers.end()) continue;
      findings_.add("unknown_field",
                    {child_pointer("", key), "is no member of a request", "",
                     fmt::format("{}", fmt::join(kMembers, ", ")), did_you_mean(key, kMembers)});
    }
  }

  template <class Enum>
  void word(std::string_view name, const std::vector<Enum>& allowed, Enum* value) {
    const Node* const node = find(name);
    if (node == nullptr) return;
    std::vector<std::string_view> words;
    words.reserve(allowed.size());
    for (const Enum one : allowed) words.push_back(to_string(one));
    if (node->kind == Node::Kind::kString) {
      const auto found = std::ranges::find(words, node->text);
      if (found != words.end()) {
        *value = allowed[static_cast<std::size_t>(found - words.begin())];
        return;
      }
    }
    refuse("unknown_word", *node, name, fmt::format("\"{}\"", fmt::join(words, "\", \"")),
           did_you_mean(node->text, words));
  }

  void flag(std::string_view name, bool* value) {
    const Node* const node = find(name);
    if (node == nullptr) return;
    if (node->kind != Node::Kind::kBool) return refuse("wrong_type", *node, name, "true or false");
    *value = node->boolean;
  }

  // Which integers make sense is for derive_decode_plan() to judge.
  void integer(std::string_view name, int* value) {
    const Node* const node = find(name);
    if (node != nullptr) *value = integer_of(*node, name).value_or(*value);
  }

  void integers(std::string_view name, std::vector<int>* values) {
    const Node* const node = array(name, "an array of integers");
    if (node == nullptr) return;
    for (const Node& item : node->items) values->push_back(integer_of(item, name).value_or(0));
  }

  void numbers(std::string_view name, std::vector<float>* values) {
    const Node* const node = array(name, "an array of numbers");
    if (node == nullptr) return;
    for (const Node& item : node->items) {
      if (item.kind == Node::Kind::kInteger) {
        values->push_back(static_cast<float>(item.integer));
      } else if (item.kind == Node::Kind::kNumber) {
        values->push_back(static_cast<float>(item.number));
      } else {
        return refuse("wrong_type", *node, name, "an array of numbers");
      }
    }
  }

  // Refuses the member if it is there.
  void only_with(std::string_view name, bool has_meaning, const char* where) {
    const Node* const node = find(name);
    if (node == nullptr || has_meaning) return;
    refuse("no_meaning", *node, name, fmt::format("this member only with {}", where));
  }
  // Adds a finding where it is missing.
  void need(std::string_view name, const char* where) {
    if (find(name) != nullptr) return;
    findings_.add("missing_field", {child_pointer("", name),
                                    fmt::format("is missing; {} needs it", where), "", "", ""});
  }

 private:
  const Node* find(std::string_view name) const { return object_.find(name); }

  const Node* array(std::string_view name, const char* allowed) {
    const Node* const node = find(name);
    if (node == nullptr) return nullptr;
    if (node->kind == Node::Kind::kArray && node->items.size() <= kMostElements) return node;
    refuse("wrong_type", *node, name, allowed);
    return nullptr;
  }

  std::optional<int> integer_of(const Node& node, std::string_view name) {
    using Limits = std::numeric_limits<int>;
    const std::optional<std::int64_t> value = node.as_integer();
    if (value && *value >= Limits::min() && *value <= Limits::max()) {
      return static_cast<int>(*value);
    }
    refuse("wrong_type", node, name, "integers of 32 bits");
    return std::nullopt;
  }

  void refuse(std::string_view what, const Node& node, std::string_view name, std::string allowed,
              std::string hint = {}) {
    findings_.add(what, {child_pointer("", name), fmt::format("is {}", excerpt(node)),
                         excerpt(node), std::move(allowed), std::move(hint)});
  }

  const Node& object_;
  Findings& findings_;
};

void read_members(RequestMembers& members, DecodeRequest& request) {
  members.word("kind", std::vector{CodeKind::kInteger, CodeKind::kFloat, CodeKind::kTable},
               &request.kind);
  members.integer("bits", &request.bits);
  members.word("type", std::vector{WeightType::kUint, WeightType::kInt}, &request.type);
  members.word("zero_point", std::vector{ZeroPoint::kNone, ZeroPoint::kInt}, &request.zero_point);
  members.word("dtype", std::vector{DType::kFp16, DType::kBf16, DType::kInt8, DType::kFp8E4m3},
               &request.dtype);
  members.word("order",
               std::vector{ElementOrder::kFragment, ElementOrder::kLinear, ElementOrder::kAwq,
                           ElementOrder::kEvenOdd, ElementOrder::kTrtllm,
                           ElementOrder::kPermutation, ElementOrder::kByteFragment},
               &request.order);
  members.word("zero_order", std::vector{ZeroOrder::kRows, ZeroOrder::kElements},
               &request.zero_order);
  members.integer("exponent_bits", &request.exponent_bits);
  members.integer("mantissa_bits", &request.mantissa_bits);
  members.numbers("table", &request.table);
  members.integers("permutation", &request.permutation);
  members.flag("fold_power", &request.fold_power);
  members.flag("fold_scale", &request.fold_scale);

  const bool is_float = request.kind == CodeKind::kFloat;
  const bool is_table = request.kind == CodeKind::kTable;
  const bool is_permutation = request.order == ElementOrder::kPermutation;
  members.only_with("exponent_bits", is_float, "\"kind\": \"float\"");
  members.only_with("mantissa_bits", is_float, "\"kind\": \"float\"");
  members.only_with("table", is_table, "\"kind\": \"table\"");
  members.only_with("permutation", is_permutation, "\"order\": \"permutation\"");
  members.only_with("zero_order", request.zero_point == ZeroPoint::kInt, "\"zero_point\": \"int\"");
  if (is_table) members.need("table", "the kind \"table\"");
  if (is_permutation) members.need("permutation", "the order \"permutation\"");
}

}  // namespace

DecodeRequest parse_decode_request(std::string_view json) {
  Findings findings("decode");
  DecodeRequest request;
  const std::optional<Node> root = read_document(json, {}, findings);
  if (root && root->kind != Node::Kind::kObject) {
    findings.add("wrong_type", {"", "a request is a JSON object", excerpt(*root), "", ""});
  } else if (root) {
    RequestMembers members(*root, &findings);
    read_members(members, request);
  }
  findings.throw_if_any();
  return request;
}

std::string decode_requests_to_json() {
  auto requests = nlohmann::ordered_json::array();
  for (const NamedDecodeRequest& one : every_decode_request()) {
    requests.push_back(
        {{"name", one.name},
         {"request", request_json(one.request)},
         {"instructions_per_weight", derive_decode_plan(one.request).instructions_per_weight}});
  }
  return nlohmann::ordered_json{{"requests", std::move(requests)}}.dump();
}

}  // namespace heddle
