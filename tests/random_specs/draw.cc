#include "tests/random_specs/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <type_traits>
#include <utility>

#include "generator/target/check_target.h"
#include "generator/target/target_json.h"

namespace heddle {
namespace {

// What models have. Without these hardly any drawn group divides a drawn K.
struct Usual {
  std::string_view pointer;
  std::initializer_list<std::int64_t> values;
};
const Usual kUsual[] = {
    {"/shape/n", {8, 64, 256, 1000, 1024, 4096, 6144, 11008, 14336, 28672, 152064}},
    {"/shape/k", {32, 128, 256, 512, 2048, 4096, 8192, 11008, 14336, 28672}},
    {"/shape/m/0", {1, 1, 1, 2, 9, 17, 64, 129}},
    {"/shape/m/1", {1, 8, 16, 64, 128, 512, 4096, 65536}},
    {"/weight/group_size", {-1, 0, 16, 32, 64, 128, 256}},
    {"/weight/group_offset", {0, 0, 16, 32, 96, 128}},
    {"/shape/columns", {8, 64, 128, 1000, 2048, 4096, 5120, 8192, 18432, 65536}},
    {"/shape/hidden", {32, 96, 256, 1024, 2048, 2880, 4096, 7168}},
    {"/shape/intermediate", {32, 128, 256, 768, 1536, 2048, 2880}},
    {"/shape/experts", {1, 8, 32, 60, 128, 256, 512}},
    {"/shape/top_k", {1, 1, 2, 4, 8, 10}},
    {"/shape/tokens/0", {1, 1, 1, 2, 9, 129}},
    {"/shape/tokens/1", {1, 8, 64, 512, 4096, 65536}},
    {"/shape/first_expert", {0, 0, 1, 32}},
    {"/shape/local_experts", {0, 0, 1, 8, 32}},
    {"/shape/heads", {1, 8, 16, 32, 40, 64}},
    {"/shape/kv_heads", {1, 2, 4, 8, 32}},
    {"/shape/head_dim", {64, 80, 96, 128, 192, 256}},
    {"/kv/page_size", {1, 16, 32, 64, 128, 256}},
    {"/rope/dim", {0, 16, 32, 64, 128}},
    {"/rope/scaling/original_max_position_embeddings", {1, 4096, 8192, 131072}},
    {"/query/heads", {0, 8, 16, 32, 64}},
    {"/tile/m", {8, 16, 32, 64, 128, 256}},
    {"/tile/n", {16, 32, 64, 128, 256}},
    {"/tile/k", {64, 128, 256, 512, 1024}},
    {"/tile/stages", {2, 3, 4, 6}},
    {"/tile/split_k", {1, 2, 3, 4}},
    {"/tile/warps_m", {1, 2}},
    {"/tile/warps_n", {1, 2, 4, 8}},
    {"/tile/warps_k", {1, 2, 4, 8}},
};

// Also of an object in /weight that has the fields of weights.
bool is_usual_of(const Usual& usual, const Field& field) {
  constexpr std::string_view kWeight = "/weight/";
  if (usual.pointer == field.pointer) return true;
  return usual.pointer.rfind(kWeight, 0) == 0 && field.pointer.rfind(kWeight, 0) == 0 &&
         usual.pointer.substr(kWeight.size()) == field.name();
}

std::int64_t aligned(std::int64_t value, const Field& field) {
  const std::int64_t whole = value / field.multiple * field.multiple;
  const std::int64_t least = (field.min + field.multiple - 1) / field.multiple * field.multiple;
  return std::clamp(whole, least, field.max / field.multiple * field.multiple);
}

}  // namespace

std::size_t below(Random& random, std::size_t count) { return random() % count; }
bool one_in(Random& random, std::size_t count) { return below(random, count) == 0; }

void RandomSpec::draw() {
  table_ = &every_operation()[below(random_, every_operation().size())]->fields();
  // The planner of gemms has by far the most ways.
  if (one_in(random_, 2)) table_ = &operation_of(Op::kGemm).fields();
  extreme_one_in_ = one_in(random_, 2) ? 2 : 20;
  present_one_in_ = 2 + below(random_, 4);
  values_.assign(table_->fields.size(), std::nullopt);
  draw_children("");
  drop_absent();
  order_range();
}

void RandomSpec::draw_children(std::string_view pointer) {
  for (std::size_t i = 0; i < table_->fields.size(); ++i) {
    if (table_->fields[i].parent() == pointer) draw_field(i);
  }
}

void RandomSpec::draw_field(std::size_t index) {
  const Field& field = table_->fields[index];
  const Field* const parent = table_->find(field.parent());
  const bool element = parent != nullptr && parent->kind == FieldKind::kTuple;
  values_[index].reset();
  if (!field.required && !element && !one_in(random_, present_one_in_)) return;
  if (field.is_leaf()) {
    values_[index] = draw_leaf(field);
  } else {
    values_[index] = "{}";
    draw_children(field.pointer);
  }
}

std::string RandomSpec::draw_leaf(const Field& field) {
  if (field.pointer == "/op") return '"' + std::string(to_string(table_->op)) + '"';
  switch (field.kind) {
    case FieldKind::kBool:
      return one_in(random_, 2) ? "true" : "false";
    case FieldKind::kWord:
      return '"' + std::string(field.words[below(random_, field.words.size())]) + '"';
    case FieldKind::kList:
      return draw_list(field);
    case FieldKind::kLabel:
      return '"' + std::string(1 + below(random_, static_cast<std::size_t>(field.max)), 'x') + '"';
    case FieldKind::kNumber:
      return draw_number(field);
    case FieldKind::kInteger:
    case FieldKind::kObject:
    case FieldKind::kTuple:
      break;
  }
  return std::to_string(draw_integer(field));
}

std::int64_t RandomSpec::draw_integer(const Field& field) {
  if (one_in(random_, extreme_one_in_)) {
    std::vector<std::int64_t> ends(field.also.begin(), field.also.end());
    for (const std::int64_t end :
         {field.min, field.min + field.multiple, field.max - field.multiple, field.max,
          (field.min + field.max) / 2}) {
      ends.push_back(aligned(end, field));
    }
    return ends[below(random_, ends.size())];
  }
  for (const Usual& usual : kUsual) {
    if (!is_usual_of(usual, field) || one_in(random_, 8)) continue;
    const std::int64_t value = usual.values.begin()[below(random_, usual.values.size())];
    if (allows(field, value)) return value;
  }
  if (!field.also.empty() && one_in(random_, 4))
    return field.also[below(random_, field.also.size())];
  // As many small numbers as large ones.
  const double ratio = static_cast<double>(random_() % 4096) / 4095;
  const double top = std::log2(static_cast<double>(field.max - field.min + 1));
  return aligned(field.min + static_cast<std::int64_t>(std::exp2(ratio * top)) - 1, field);
}

// As many small numbers as large ones, and the ends.
std::string RandomSpec::draw_number(const Field& field) {
  if (one_in(random_, extreme_one_in_)) {
    return fmt::format("{}", one_in(random_, 2) ? field.least : field.most);
  }
  const double part = static_cast<double>(random_() % 4096) / 4095;
  const double number = field.least * std::pow(field.most / field.least, part);
  return fmt::format("{}", std::clamp(number, field.least, field.most));
}

// A permutation of as many codes as a word has with some width.
std::string RandomSpec::draw_list(const Field& field) {
  const std::size_t sizes[] = {4, 8, 16, 32, static_cast<std::size_t>(field.max) + 1};
  std::vector<int> values(
      std::min(sizes[below(random_, std::size(sizes))], static_cast<std::size_t>(field.max) + 1));
  std::iota(values.begin(), values.end(), 0);
  std::shuffle(values.begin(), values.end(), random_);
  return value_text(values);
}

// Fields that there are not beside the drawn words of others: a parser knows none of them there.
void RandomSpec::drop_absent() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Condition* const condition = table_->fields[i].no_field_where;
    if (condition == nullptr || !values_[i]) continue;
    const Field* const other = table_->find(condition->pointer);
    const Value& word = values_[static_cast<std::size_t>(other - table_->fields.data())];
    const auto is_that = [&](std::string_view one) {
      return *word == '"' + std::string(one) + '"';
    };
    const bool is_absent =
        word ? std::any_of(condition->words.begin(), condition->words.end(), is_that)
             : holds(*table_, condition, table_->defaults);
    if (is_absent) values_[i].reset();
  }
}

// [smallest, largest], but for a few.
void RandomSpec::order_range() {
  const auto at = [&](std::string_view pointer) -> Value* {
    const Field* const field = table_->find(pointer);
    if (field == nullptr) return nullptr;
    Value& value = values_[static_cast<std::size_t>(field - table_->fields.data())];
    return value ? &value : nullptr;
  };
  for (const auto& [from, to] :
       {std::pair{"/shape/m/0", "/shape/m/1"}, {"/shape/tokens/0", "/shape/tokens/1"}}) {
    Value* const first = at(from);
    Value* const last = at(to);
    if (first == nullptr || last == nullptr || one_in(random_, 50)) continue;
    if (std::stoll(**first) > std::stoll(**last)) std::swap(*first, *last);
  }
}

void RandomSpec::redraw(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    const Field* field = table_->find(problem.pointer);
    if (field == nullptr) field = &table_->fields[below(random_, table_->fields.size())];
    const auto index = static_cast<std::size_t>(field - table_->fields.data());
    if (field->pointer == "/heddle" || field->pointer == "/op") continue;
    if (field->required || !one_in(random_, 3)) {
      const Field* const parent = table_->find(field->parent());
      const bool inside =
          field->parent().empty() ||
          (parent != nullptr && values_[static_cast<std::size_t>(parent - table_->fields.data())]);
      if (inside) draw_field(index);
    } else {
      values_[index].reset();
    }
  }
  drop_absent();
  order_range();
}

void RandomSpec::write_members(std::string_view parent, std::string* text) const {
  bool first = true;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Field& field = table_->fields[i];
    if (!values_[i] || field.parent() != parent) continue;
    if (!first) *text += ',';
    first = false;
    const Field* const owner = table_->find(parent);
    if (owner == nullptr || owner->kind != FieldKind::kTuple) {
      *text += '"' + std::string(field.name()) + "\":";
    }
    if (field.is_leaf()) {
      *text += *values_[i];
      continue;
    }
    *text += field.kind == FieldKind::kTuple ? '[' : '{';
    write_members(field.pointer, text);
    *text += field.kind == FieldKind::kTuple ? ']' : '}';
  }
}

std::string RandomSpec::json() const {
  std::string text = "{";
  write_members("", &text);
  return text + '}';
}

Target random_target(Random& random) {
  static const std::vector<Target> known = known_targets();
  Target target = known[below(random, known.size())];
  if (one_in(random, 2)) return target;
  const bool absurd = one_in(random, 50);
  const std::size_t changed_one_in = 1 + below(random, 6);
  for_each_fact(target, [&](const char* name, auto& fact, const FactRange& range) {
    using Number = std::remove_reference_t<decltype(fact)>;
    // Another architecture has no other facts that the table could know.
    const bool is_architecture =
        std::string_view(name) == "major" || std::string_view(name) == "minor";
    if (!one_in(random, is_architecture ? 10 : changed_one_in)) return;
    const std::int64_t now = static_cast<std::int64_t>(fact);
    const std::int64_t choices[] = {range.min, range.min + 1, range.max - 1, range.max,  now / 2,
                                    now - 1,   now + 1,       2 * now,       now / 3 + 7};
    const std::int64_t value = choices[below(random, std::size(choices))];
    fact = static_cast<Number>(std::clamp(value, range.min, range.max));
    if (absurd) fact = static_cast<Number>(one_in(random, 2) ? range.min - 1 : range.max + 1);
  });
  if (!absurd) target.shared_per_block = std::min(target.shared_per_block, target.shared_per_sm);
  return target;
}

std::string target_json(const Target& target) {
  nlohmann::ordered_json object = {
      {"name", target.name}, {"major", target.major}, {"minor", target.minor}};
  add_target_facts(target, &object);
  return object.dump();
}

}  // namespace heddle
