// Whether a kernel reads packed weights as they were packed.
#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "generator/spec/fields.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr std::string_view kActOrder = "/activation/act_order";

// The fields of a gemm that say what packed bytes mean.
bool says_bytes(const Field& field) {
  const std::string_view at = field.pointer;
  return field.is_leaf() && (at == "/shape/n" || at == "/shape/k" || at.starts_with("/weight/") ||
                             at == kActOrder || at == "/epilogue/gated");
}

// What the bytes mean, as the fields of a gemm, whichever operation the spec is of.
GemmSpec meaning_of(const Spec& spec) {
  GemmSpec gemm;
  gemm.shape.n = spec.weight_shape().n;
  gemm.shape.k = spec.weight_shape().k;
  gemm.weight = spec.weight();
  gemm.act_order = spec.op() == Op::kGemm ? spec.gemm().act_order : spec.weight_op().act_order;
  gemm.epilogue.gated = spec.gated();
  return gemm;
}

std::string text_of(const Field& field, const GemmSpec& gemm) {
  if (field.kind == FieldKind::kList) return value_text(field.list.get(&gemm));
  return value_text(field, field.slot.get(&gemm).value_or(0));
}

bool reads_packed(const Spec& spec) {
  if (spec.op() == Op::kGemm) return true;
  return spec.op() == Op::kDequantize && spec.weight_op().format == CheckpointFormat::kHeddle;
}

bool has_packed(const Spec& spec) {
  return reads_packed(spec) || spec.op() == Op::kRepack || spec.op() == Op::kQuantizeWeight;
}

[[noreturn]] void refuse(const Spec& spec, const char* what) {
  throw Error(ErrorCategory::kUsage, "weights.no_weight",
              fmt::format("a spec of {} {}", to_string(spec.op()), what));
}

}  // namespace

void check_packed_weights(const Spec& kernel, const Spec& packed) {
  if (!reads_packed(kernel)) refuse(kernel, "is of no kernel that reads packed weights");
  if (!has_packed(packed)) refuse(packed, "tells of no packed weights");
  const GemmSpec wanted = meaning_of(kernel);
  const GemmSpec given = meaning_of(packed);
  std::vector<Problem> problems;
  for (const Field& field : gemm_fields().fields) {
    if (!says_bytes(field)) continue;
    const std::string of_packed = text_of(field, given);
    const std::string of_kernel = text_of(field, wanted);
    if (of_packed == of_kernel) continue;
    const bool own_name = field.pointer == kActOrder && kernel.op() == Op::kDequantize;
    problems.push_back({own_name ? "/source/act_order" : std::string(field.pointer),
                        "the packed weights are not those that the kernel reads", of_packed,
                        of_kernel, ""});
  }
  if (problems.empty()) return;
  throw Error(ErrorCategory::kUsage, "weights.mismatch", std::move(problems));
}

}  // namespace heddle
