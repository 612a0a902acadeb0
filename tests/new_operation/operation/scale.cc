#include "tests/new_operation/operation/scale.h"

#include <fmt/format.h>

#include "generator/operations/operation.h"
#include "generator/spec/common_fields.h"
#include "generator/spec/operation_list.h"

namespace heddle {
namespace {

// Its place in the list is the last one: a letter for each operation, and the zero behind them.
#define LETTER(name) "o"
#define NOTHING(name)
constexpr char kOperations[] = HEDDLE_OPERATIONS(LETTER, NOTHING, NOTHING);
#undef LETTER
#undef NOTHING
constexpr Op kOp{static_cast<int>(sizeof kOperations) - 2};

constexpr auto kFields =
    join_fields(header_fields<kOp>("Y[M, columns] = factor * X[M, columns]"),
                std::to_array<Field>({shape_field("the sizes of Y"),
                                      size_field("/shape/columns", 1, kLargestSide,
                                                 slot<&ScaleSpec::columns>(), "columns of X and Y"),
                                      {.pointer = "/factor",
                                       .min = 1,
                                       .max = 100,
                                       .slot = slot<&ScaleSpec::factor>(),
                                       .doc = "what X is multiplied by"}}));

class Scale final : public OperationOn<ScaleSpec> {
 public:
  const FieldTable& fields() const override {
    static const ScaleSpec defaults;
    static const FieldTable table{kOp, kFields, &defaults};
    return table;
  }
  std::vector<Problem> problems(const void* fields) const override {
    if (of(fields).columns % 4 == 0) return {};
    return {{"/shape/columns", "no whole vectors of four", std::to_string(of(fields).columns),
             "multiples of 4", ""}};
  }
  OutputUse output(const void* fields) const override { return {"fp32", "", of(fields).columns}; }
  SizeKind size_kind() const noexcept override { return SizeKind::kRows; }
  MRange sizes(const void* fields) const override { return {of(fields).m_min, of(fields).m_max}; }
  std::string describe(const void* fields) const override {
    return fmt::format("Y[M, {}] = {} * X", of(fields).columns, of(fields).factor);
  }
};

}  // namespace

const Operation& scale_operation() {
  static const Scale operation;
  return operation;
}

}  // namespace heddle
