#include "generator/tuned/format.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "generator/operations/gemm/gemm.h"
#include "generator/spec/byte_meaning.h"
#include "generator/spec/canonical.h"

namespace heddle {
namespace {

// Besides those of weights. Each but the first two is of eight bits.
constexpr std::string_view kOthers[] = {
    "/activation",           "/activation/dtype",       "/activation/granularity",
    "/activation/symmetric", "/activation/scale_dtype", "/accumulation"};

std::vector<Field> fields_of_format() {
  std::vector<Field> fields;
  for (const Field& field : gemm_fields().fields) {
    const bool of_weight = field.pointer == "/weight" || field.parent() == "/weight";
    if (of_weight || std::ranges::find(kOthers, field.pointer) != std::end(kOthers)) {
      fields.push_back(field);
    }
  }
  return fields;
}

}  // namespace

const FieldTable& format_fields() {
  static const std::vector<Field> fields = fields_of_format();
  static const FieldTable table{gemm_fields().op, fields, gemm_fields().defaults};
  return table;
}

void settle_format(GemmSpec& gemm) {
  gemm.weight.interleave = settled_interleave(gemm);
  if (gemm.has_byte_activations()) gemm.output = DType::kFp16;
}

std::string format_text(const GemmSpec& gemm) { return canonical_text(format_fields(), &gemm); }

bool same_format(const GemmSpec& a, const GemmSpec& b) {
  const auto same_value = [&](const Field& field) {
    if (!field.is_leaf()) return true;
    if (field.kind == FieldKind::kList) return field.list.get(&a) == field.list.get(&b);
    return field.slot.get(&a) == field.slot.get(&b);
  };
  const auto& fields = format_fields().fields;
  return std::all_of(fields.begin(), fields.end(), same_value);
}

bool serves(const TunedEntry& entry, const GemmSpec& gemm) {
  if (entry.n != gemm.shape.n || entry.k != gemm.shape.k) return false;
  if (entry.m_last < gemm.shape.m_min || entry.m_first > gemm.shape.m_max) return false;
  return same_format(gemm_of(entry), gemm);
}

GemmSpec gemm_of(const TunedEntry& entry) {
  GemmSpec gemm;
  gemm.shape = {entry.n, entry.k, entry.m_first, entry.m_last};
  gemm.weight = entry.weight;
  gemm.activation = entry.activation;
  gemm.activation_scale = entry.activation_scale;
  gemm.accumulation = entry.accumulation;
  settle_format(gemm);
  return gemm;
}

TunedEntry entry_of(const GemmSpec& gemm) {
  TunedEntry entry;
  entry.weight = gemm.weight;
  entry.activation = gemm.activation;
  entry.activation_scale = gemm.activation_scale;
  entry.accumulation = gemm.accumulation;
  entry.n = gemm.shape.n;
  entry.k = gemm.shape.k;
  entry.m_first = gemm.shape.m_min;
  entry.m_last = gemm.shape.m_max;
  return entry;
}

}  // namespace heddle
