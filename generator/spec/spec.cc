#include "heddle/spec.h"

#include <utility>

#include "generator/spec/canonical.h"
#include "generator/spec/document.h"
#include "generator/spec/fields.h"
#include "generator/spec/findings.h"
#include "generator/spec/parser.h"

namespace heddle {

Spec Spec::parse(std::string_view json) {
  Findings findings("spec");
  Spec spec;
  if (const std::optional<Node> root = read_document(json, DocumentLimits{}, findings)) {
    // A second operation chooses its table here, by "/op".
    parse_fields(*root, gemm_fields(), &spec.gemm_, spec.name_, findings);
  }
  findings.throw_if_any();
  return spec;
}

Spec Spec::from_gemm(const GemmSpec& gemm, std::string name) {
  Findings findings("spec");
  check_fields(gemm_fields(), &gemm, name, findings);
  findings.throw_if_any();
  Spec spec;
  spec.gemm_ = gemm;
  spec.name_ = std::move(name);
  return spec;
}

std::string Spec::canonical_json() const { return canonical_text(gemm_fields(), &gemm_); }

std::string spec_schema() { return schema_text(gemm_fields()); }

}  // namespace heddle
