// The tables of fields in docs/spec.md say what the library's tables of fields say.
#include <algorithm>

#include "generator/operations/operation.h"
#include "tests/generator/spec/spec_helpers.h"

namespace heddle {
namespace {

// A part of the page: the fields that all of `ops` have and that mean the same in each of them.
struct Section {
  std::string heading;
  std::vector<Op> ops;
};

// A field is described in the first section that covers its operation.
std::vector<Section> sections() {
  std::vector<Section> list = {
      {"Every operation",
       {Op::kGemm, Op::kDequantize, Op::kRepack, Op::kQuantizeWeight, Op::kKvAppend,
        Op::kDecodeAttention, Op::kRowTransform, Op::kMoe}},
      {"gemm, dequantize, repack, quantize_weight",
       {Op::kGemm, Op::kDequantize, Op::kRepack, Op::kQuantizeWeight}},
      {"dequantize, repack, quantize_weight", {Op::kDequantize, Op::kRepack, Op::kQuantizeWeight}},
      {"dequantize, repack", {Op::kDequantize, Op::kRepack}},
      {"gemm, moe", {Op::kGemm, Op::kMoe}},
      {"kv_append, decode_attention", {Op::kKvAppend, Op::kDecodeAttention}}};
  for (const Operation* operation : every_operation()) {
    const Op op = operation->fields().op;
    list.push_back({std::string(to_string(op)), {op}});
  }
  return list;
}

std::string dotted(std::string_view pointer) {
  std::string path(pointer.substr(1));
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

// The innermost object around the field that may be left out; null where there is none.
const Field* optional_parent(const FieldTable& table, const Field& field) {
  const Field* at = table.find(field.parent());
  while (at != nullptr && at->required) at = table.find(at->parent());
  return at;
}

// Where a field takes its default from another one: a word that it has not becomes another.
std::string taken_default_text(const FieldTable& table, const Field& field) {
  const std::string from = '`' + dotted(field.default_from) + '`';
  const Field& other = *table.find(field.default_from);
  const bool has_all =
      std::all_of(other.words.begin(), other.words.end(), [&](std::string_view word) {
        return word != field.no_default &&
               std::find(field.words.begin(), field.words.end(), word) != field.words.end();
      });
  return has_all ? from : from + ", else " + value_text(field, field.default_otherwise);
}

std::string tuple_default_text(const FieldTable& table, const Field& tuple) {
  std::string text;
  for (const Field& field : table.fields) {
    if (field.parent() != tuple.pointer) continue;
    text += (text.empty() ? "[" : ", ") + value_text(field, *field.slot.get(table.defaults));
  }
  return text + ']';
}

std::string default_text(const FieldTable& table, const Field& field) {
  if (!field.default_from.empty()) return taken_default_text(table, field);
  if (field.required) {
    const Field* object = optional_parent(table, field);
    return object == nullptr ? "required" : "required in `" + dotted(object->pointer) + '`';
  }
  if (field.kind == FieldKind::kTuple) return tuple_default_text(table, field);
  if (field.slot.get == nullptr) return "";
  const std::optional<std::int64_t> value = field.slot.get(table.defaults);
  return value ? value_text(field, *value) : "";
}

std::string row_of(const FieldTable& table, const Field& field) {
  const std::string allowed = field.kind == FieldKind::kObject ? "a gemm's `weight`"
                              : field.kind == FieldKind::kBool ? "boolean"
                                                               : allowed_text(table, field);
  return "| `" + dotted(field.pointer) + "` | " + allowed + " | " + default_text(table, field) +
         " | " + std::string(field.doc) + " |\n";
}

// The objects kv.k and kv.v have the fields of kv, which the page describes once.
bool repeats_field_of_kv(const FieldTable& table, const Field& field) {
  constexpr std::string_view kTensors[] = {"/kv/k", "/kv/v"};
  if (std::find(std::begin(kTensors), std::end(kTensors), field.parent()) == std::end(kTensors)) {
    return false;
  }
  const Field* shared = table.find("/kv", field.name());
  EXPECT_TRUE(shared != nullptr && field.default_from == shared->pointer &&
              allowed_text(table, *shared) == allowed_text(table, field))
      << field.pointer;
  return true;
}

constexpr std::string_view kWeightsOfAnExpert[] = {"/weight/gate_up", "/weight/down"};

bool is_weight_of_an_expert(std::string_view pointer) {
  return std::find(std::begin(kWeightsOfAnExpert), std::end(kWeightsOfAnExpert), pointer) !=
         std::end(kWeightsOfAnExpert);
}

// The weights of an expert have the fields that a gemm's have.
bool repeats_field_of_a_gemm(const FieldTable& table, const Field& field) {
  if (!is_weight_of_an_expert(field.parent())) return false;
  const FieldTable& gemm = operation_of(Op::kGemm).fields();
  const Field* same = gemm.find("/weight", field.name());
  if (same == nullptr) {
    ADD_FAILURE() << field.pointer;
    return false;
  }
  EXPECT_EQ(same->doc, field.doc) << field.pointer;
  EXPECT_EQ(allowed_text(gemm, *same), allowed_text(table, field)) << field.pointer;
  EXPECT_EQ(same->default_from, field.default_from) << field.pointer;
  if (field.default_from.empty()) {
    EXPECT_EQ(default_text(gemm, *same), default_text(table, field)) << field.pointer;
  }
  return true;
}

// Whether the page has a row for it. Operations have a table of their own, and objects follow from
// the fields in them, but those whose fields the page describes elsewhere.
bool has_row(const FieldTable& table, const Field& field) {
  const Field* parent = table.find(field.parent());
  const bool element = parent != nullptr && parent->kind == FieldKind::kTuple;
  if (field.kind == FieldKind::kObject) return is_weight_of_an_expert(field.pointer);
  return !element && field.pointer != "/op" && !repeats_field_of_kv(table, field) &&
         !repeats_field_of_a_gemm(table, field);
}

bool has_same_row(Op op, const Field& field, const std::string& row) {
  const FieldTable& table = operation_of(op).fields();
  const Field* same = table.find(field.pointer);
  return same != nullptr && row_of(table, *same) == row;
}

std::string section_text(const Section& section, const std::vector<Section>& earlier) {
  const FieldTable& table = operation_of(section.ops.front()).fields();
  std::string rows;
  for (const Field& field : table.fields) {
    if (!has_row(table, field)) continue;
    const std::string row = row_of(table, field);
    const auto covers = [&](const Section& one) {
      return std::find(one.ops.begin(), one.ops.end(), table.op) != one.ops.end() &&
             std::all_of(one.ops.begin(), one.ops.end(),
                         [&](Op op) { return has_same_row(op, field, row); });
    };
    if (covers(section) && std::none_of(earlier.begin(), earlier.end(), covers)) rows += row;
  }
  if (rows.empty()) return "";
  return "### " + section.heading +
         "\n\n| field | allowed | default | meaning |\n| --- | --- | --- | --- |\n" + rows;
}

// If these fail: put the printed text into docs/spec.md.
TEST(SpecDocs, EveryFieldIsDescribed) {
  const std::string page = file_text(HEDDLE_SPEC_PAGE);
  const std::vector<Section> all = sections();
  std::vector<Section> earlier;
  for (const Section& section : all) {
    const std::string text = section_text(section, earlier);
    EXPECT_NE(page.find(text), page.npos) << text;
    earlier.push_back(section);
  }
}

TEST(SpecDocs, EveryOperationIsDescribed) {
  const std::string page = file_text(HEDDLE_SPEC_PAGE);
  for (const Operation* operation : every_operation()) {
    const FieldTable* table = &operation->fields();
    const std::string row = "| `" + std::string(to_string(table->op)) + "` | " +
                            std::string(table->find("/op")->doc) + " |\n";
    EXPECT_NE(page.find(row), page.npos) << row;
  }
}

}  // namespace
}  // namespace heddle
