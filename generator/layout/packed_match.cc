// Whether a kernel reads packed weights as they were packed.
#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/operations/gemm/gemm.h"
#include "generator/operations/operation.h"
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

// What the bytes mean, as the fields of a gemm, whichever operation has them.
GemmSpec meaning_of(const WeightUse& use) {
  GemmSpec gemm;
  gemm.shape.n = use.shape.n;
  gemm.shape.k = use.shape.k;
  gemm.weight = *use.weight;
  gemm.act_order = use.act_order;
  gemm.epilogue.gated = use.gated;
  return gemm;
}

std::string text_of(const Field& field, const GemmSpec& gemm) {
  if (field.kind == FieldKind::kList) return value_text(field.list.get(&gemm));
  return value_text(field, field.slot.get(&gemm).value_or(0));
}

[[noreturn]] void refuse(const Spec& spec, const char* what) {
  throw Error(ErrorCategory::kUsage, "weights.no_weight",
              fmt::format("a spec of {} {}", to_string(spec.op()), what));
}

}  // namespace

void check_packed_weights(const Spec& kernel, const Spec& packed) {
  const std::optional<WeightUse> read = operation_of(kernel).weight(kernel.fields());
  const std::optional<WeightUse> made = operation_of(packed).weight(packed.fields());
  if (!read || !read->reads_packed) refuse(kernel, "is of no kernel that reads packed weights");
  if (!made || !(made->reads_packed || made->writes_packed)) {
    refuse(packed, "tells of no packed weights");
  }
  const GemmSpec wanted = meaning_of(*read);
  const GemmSpec given = meaning_of(*made);
  std::vector<Problem> problems;
  for (const Field& field : gemm_fields().fields) {
    if (!says_bytes(field)) continue;
    const std::string of_packed = text_of(field, given);
    const std::string of_kernel = text_of(field, wanted);
    if (of_packed == of_kernel) continue;
    const bool is_order = field.pointer == kActOrder;
    problems.push_back({std::string(is_order ? read->act_order_field : field.pointer),
                        "the packed weights are not those that the kernel reads", of_packed,
                        of_kernel, ""});
  }
  if (problems.empty()) return;
  throw Error(ErrorCategory::kUsage, "weights.mismatch", std::move(problems));
}

}  // namespace heddle
