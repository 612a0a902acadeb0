#include "generator/tuned/read_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/operations/gemm/gemm.h"
#include "generator/spec/near_miss.h"
#include "generator/spec/parser.h"
#include "generator/tuned/families.h"
#include "generator/tuned/format.h"
#include "generator/tuned/members.h"

namespace heddle {
namespace {

Node integer_node(std::int64_t value) {
  Node node;
  node.kind = Node::Kind::kInteger;
  node.integer = value;
  return node;
}

Node word_node(std::string word) {
  Node node;
  node.kind = Node::Kind::kString;
  node.text = std::move(word);
  return node;
}

void put(Node* object, std::string key, Node value) {
  object->kind = Node::Kind::kObject;
  object->keys.push_back(std::move(key));
  object->items.push_back(std::move(value));
}

// The spec that has the entry's format, N, K and M.
Node spec_of(const Members& entry) {
  Node shape;
  shape.kind = Node::Kind::kObject;
  for (const char* side : {"n", "k", "m"}) {
    if (const Node* value = entry.find(side)) put(&shape, side, *value);
  }
  Node spec;
  put(&spec, "heddle", integer_node(kSpecVersion));
  put(&spec, "op", word_node("gemm"));
  put(&spec, "shape", std::move(shape));
  for (const char* part : {"weight", "activation", "accumulation"}) {
    if (const Node* value = entry.find(part)) put(&spec, part, *value);
  }
  return spec;
}

// Turns a problem of the entry's spec into one of the entry. Where else in a spec a field belongs
// says nothing about a table, so that hint is dropped.
Problem in_entry(Problem problem, const std::string& pointer) {
  constexpr std::string_view kShape = "/shape";
  if (problem.pointer.starts_with(kShape)) problem.pointer.erase(0, kShape.size());
  problem.pointer.insert(0, pointer);
  if (const std::size_t at = problem.hint.find("it belongs at"); at != std::string::npos) {
    problem.hint.resize(at == 0 ? 0 : at - 1);
  }
  return problem;
}

// False, and findings, for a format or shape that no gemm can have.
bool read_gemm(Members& entry, GemmSpec* gemm, Findings* findings) {
  const Node* const activation = entry.find("activation");
  if (activation != nullptr && activation->kind == Node::Kind::kObject) {
    // What else a spec says of the activation makes no other kernel.
    Members(*activation, entry.pointer() + "/activation", findings)
        .know_only({"dtype", "granularity", "symmetric", "scale_dtype"});
  }
  const bool has_m = entry.need("m", "[smallest, largest]") != nullptr;
  Findings of_spec("tuned");
  std::string name;
  parse_fields(spec_of(entry), gemm_fields(), gemm, name, of_spec);
  settle_format(*gemm);
  if (of_spec.empty()) {
    for (Problem& problem : check_meaning(*gemm)) of_spec.add("meaning", std::move(problem));
  }
  try {
    of_spec.throw_if_any();
    return has_m;
  } catch (const Error& error) {
    const std::string what = error.code().substr(error.code().find('.') + 1);
    for (const Problem& problem : error.problems()) {
      findings->add(what, in_entry(problem, entry.pointer()));
    }
    return false;
  }
}

// False, and findings, for a family that is not known or has no version.
bool read_family(Members& entry, const std::map<std::string, int>& families, TunedEntry* out) {
  const std::vector<std::string_view> names = tuned_family_names();
  const std::string allowed = fmt::format("{}", fmt::join(names, ", "));
  const Node* const family = entry.need("family", allowed);
  if (family == nullptr) return false;
  const auto read = entry.line(*family, "family", kLongestLine);
  if (!read) return false;
  if (std::find(names.begin(), names.end(), *read) == names.end()) {
    entry.refuse("unknown_family", *family, "family", "is no family of gemm kernels", allowed,
                 did_you_mean(*read, names));
    return false;
  }
  out->family = *read;
  if (const Node* const version = entry.find("version")) {
    const auto number = entry.integer(*version, "version", 1, kMostFamilyVersion);
    out->family_version = static_cast<int>(number.value_or(0));
    return number.has_value();
  }
  const auto of_table = families.find(*read);
  if (of_table == families.end()) {
    entry.refuse("missing_version", *family, "family",
                 "neither /families nor \"version\" says which version it was measured with", "");
    return false;
  }
  out->family_version = of_table->second;
  return true;
}

bool read_us(Members& entry, TunedEntry* out) {
  const Node* const us = entry.find("us");
  if (us == nullptr) return true;
  constexpr double kMostUs = 1e9;
  const std::optional<double> value = entry.positive(*us, "us", 0, kMostUs);
  out->us = value.value_or(0);
  return value.has_value();
}

bool read_line(Members& entry, const Node* node, std::string_view name, std::string* out) {
  if (node == nullptr) return false;
  const std::optional<std::string> text = entry.line(*node, name, kLongestLine);
  *out = text.value_or(std::string());
  return text.has_value();
}

}  // namespace

std::optional<TunedEntry> read_entry(const Node& node, const std::string& pointer,
                                     const std::map<std::string, int>& families,
                                     Findings* findings) {
  if (!is_kind(node, Node::Kind::kObject, pointer, findings)) return std::nullopt;
  Members members(node, pointer, findings);
  members.know_only({"weight", "activation", "accumulation", "n", "k", "m", "family", "version",
                     "kernel", "us", "from"});
  GemmSpec gemm;
  bool good = read_gemm(members, &gemm, findings);
  TunedEntry entry = entry_of(gemm);
  good = read_family(members, families, &entry) && good;
  const Node* const kernel = members.need("kernel", "the label of one of the family's kernels");
  good = read_line(members, kernel, "kernel", &entry.kernel) && good;
  good = read_us(members, &entry) && good;
  if (const Node* const from = members.find("from")) {
    good = read_line(members, from, "from", &entry.from) && good;
  }
  if (!good) return std::nullopt;
  return entry;
}

}  // namespace heddle
