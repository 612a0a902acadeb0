// The table of gemm.
#include <algorithm>
#include <iterator>
#include <limits>

#include "generator/operations/gemm/gemm.h"
#include "generator/spec/common_fields.h"

namespace heddle {
namespace {

constexpr Op kOp = Op::kGemm;

// The types of X, in the order of their words, which are those of the rows that row_transform
// writes.
constexpr DType kXTypes[] = {DType::kFp16, DType::kBf16, DType::kInt8, DType::kFp8E4m3,
                             DType::kFp8E5m2};
static_assert(std::size(kXTypes) == kRowDtypeWords.size());

constexpr Slot x_type_slot() {
  return Slot{[](const void* object) -> std::optional<std::int64_t> {
                const auto* type = std::find(std::begin(kXTypes), std::end(kXTypes),
                                             static_cast<const GemmSpec*>(object)->activation);
                return type - std::begin(kXTypes);
              },
              [](void* object, std::int64_t value) {
                static_cast<GemmSpec*>(object)->activation = kXTypes[value];
              }};
}

// Those of Y, in the order of their words.
constexpr DType kYTypes[] = {DType::kFp16, DType::kBf16,    DType::kFp32,
                             DType::kInt8, DType::kFp8E4m3, DType::kFp8E5m2};
static_assert(std::size(kYTypes) == kOutputDTypeWords.size());

constexpr Slot y_type_slot() {
  return Slot{[](const void* object) -> std::optional<std::int64_t> {
                const auto& output = static_cast<const GemmSpec*>(object)->output;
                if (!output) return std::nullopt;
                return std::find(std::begin(kYTypes), std::end(kYTypes), *output) - kYTypes;
              },
              [](void* object, std::int64_t value) {
                static_cast<GemmSpec*>(object)->output = kYTypes[value];
              }};
}

constexpr auto kGemmActivation = std::to_array<Field>({
    {.pointer = "/activation",
     .kind = FieldKind::kObject,
     .required = true,
     .doc = "the other side of the operation"},
    {.pointer = "/activation/dtype",
     .kind = FieldKind::kWord,
     .required = true,
     .words = kRowDtypeWords,
     .slot = x_type_slot(),
     .doc = "type of X and, of 16 bits, the bias"},
    {.pointer = "/activation/granularity",
     .kind = FieldKind::kWord,
     .words = kRowGranularityWords,
     .silent_default = true,
     .slot = slot<&GemmSpec::activation_scale, &ActivationScaleSpec::granularity>(),
     .doc = "values of X that share a scale, required by 8 bits; tensor: all; token: a row; group: "
            "128 columns of a row"},
    {.pointer = "/activation/symmetric",
     .kind = FieldKind::kBool,
     .silent_default = true,
     .slot = slot<&GemmSpec::activation_scale, &ActivationScaleSpec::symmetric>(),
     .doc = "false: int8 per token also has a zero point for each row"},
    {.pointer = "/activation/scale_dtype",
     .kind = FieldKind::kWord,
     .words = kRowScaleDtypeWords,
     .silent_default = true,
     .slot = slot<&GemmSpec::activation_scale, &ActivationScaleSpec::scale_dtype>(),
     .doc = "type of the scales; e8m0: powers of two, of groups"},
});

constexpr auto kGemmShape = std::to_array<Field>({
    shape_field("the sizes of the operation"),
    size_field("/shape/n", 1, kLargestSide, slot<&GemmSpec::shape, &GemmShape::n>(), "rows of W"),
    size_field("/shape/k", 1, kLargestSide, slot<&GemmSpec::shape, &GemmShape::k>(),
               "columns of W"),
    {.pointer = "/shape/m",
     .kind = FieldKind::kTuple,
     .doc = "smallest and largest number of rows of X (tokens) to serve"},
    size_field("/shape/m/0", 1, kLargestM, slot<&GemmSpec::shape, &GemmShape::m_min>(),
               "smallest M"),
    size_field("/shape/m/1", 1, kLargestM, slot<&GemmSpec::shape, &GemmShape::m_max>(),
               "largest M"),
});

constexpr auto kGemmChoices = std::to_array<Field>({
    {.pointer = "/activation/pre_scale",
     .kind = FieldKind::kBool,
     .slot = slot<&GemmSpec::pre_scale>(),
     .doc = "multiply each column of X by its own factor (AWQ's activation scale)"},
    {.pointer = "/activation/act_order",
     .kind = FieldKind::kBool,
     .slot = slot<&GemmSpec::act_order>(),
     .doc = "packed column j of W meets column permutation[j] of X (GPTQ)"},

    {.pointer = "/output", .kind = FieldKind::kObject, .doc = "what the operation writes"},
    {.pointer = "/output/dtype",
     .kind = FieldKind::kWord,
     .words = kOutputDTypeWords,
     .slot = y_type_slot(),
     .doc = "type of Y; absent: activation.dtype; with activations of 8 bits required"},
    {.pointer = "/output/granularity",
     .kind = FieldKind::kWord,
     .words = kRowGranularityWords,
     .silent_default = true,
     .slot = slot<&GemmSpec::output_scale, &OutputScaleSpec::granularity>(),
     .doc = "values of Y that share a scale, required by 8 bits; tensor: all, by a given scale; "
            "group: 128 columns of a row; token: not served"},
    {.pointer = "/output/scale_dtype",
     .kind = FieldKind::kWord,
     .words = kRowScaleDtypeWords,
     .silent_default = true,
     .slot = slot<&GemmSpec::output_scale, &OutputScaleSpec::scale_dtype>(),
     .doc = "type of the scales; e8m0: powers of two, rounded up, of fp8 in groups"},

    {.pointer = "/multiply",
     .kind = FieldKind::kObject,
     .doc = "what the matrix instruction multiplies; its sums are FP32"},
    {.pointer = "/multiply/dtype",
     .kind = FieldKind::kWord,
     .words = kActivationDTypeWords,
     .slot = slot<&GemmSpec::multiply>(),
     .doc = "type in the matrix instruction; only activation.dtype, the default, is served"},

    {.pointer = "/accumulation",
     .kind = FieldKind::kWord,
     .words = kAccumulationWords,
     .silent_default = true,
     .slot = slot<&GemmSpec::accumulation>(),
     .doc =
         "of FP8 products; promoted: every 128 columns in FP32; fast: in the tensor cores, whose "
         "sums keep some 14 bits"},

    {.pointer = "/tile",
     .kind = FieldKind::kObject,
     .doc = "the kernel's tile, instead of the planner's; each field is honoured or refused for "
            "every M"},
    {.pointer = "/tile/m",
     .min = 8,
     .max = 1024,
     .multiple = 8,
     .slot = slot<&GemmSpec::tile, &TileSpec::m>(),
     .doc = "tokens per thread block"},
    {.pointer = "/tile/n",
     .min = 16,
     .max = 1024,
     .multiple = 16,
     .slot = slot<&GemmSpec::tile, &TileSpec::n>(),
     .doc = "rows of W per thread block"},
    {.pointer = "/tile/k",
     .min = 16,
     .max = 16384,
     .multiple = 16,
     .slot = slot<&GemmSpec::tile, &TileSpec::k>(),
     .doc = "length of a pipeline stage along K"},
    {.pointer = "/tile/stages",
     .min = 1,
     .max = 32,
     .slot = slot<&GemmSpec::tile, &TileSpec::stages>(),
     .doc = "pipeline stages"},
    {.pointer = "/tile/split_k",
     .min = 1,
     .max = 1024,
     .slot = slot<&GemmSpec::tile, &TileSpec::split_k>(),
     .doc = "thread blocks that share a tile of Y"},
    {.pointer = "/tile/warps_m",
     .min = 1,
     .max = 32,
     .slot = slot<&GemmSpec::tile, &TileSpec::warps_m>(),
     .doc = "warps along M"},
    {.pointer = "/tile/warps_n",
     .min = 1,
     .max = 32,
     .slot = slot<&GemmSpec::tile, &TileSpec::warps_n>(),
     .doc = "warps along N"},
    {.pointer = "/tile/warps_k",
     .min = 1,
     .max = 32,
     .slot = slot<&GemmSpec::tile, &TileSpec::warps_k>(),
     .doc = "warps along K"},

    {.pointer = "/epilogue",
     .kind = FieldKind::kObject,
     .doc = "Y = activation(X * W^T + bias) + residual, in FP32, then one rounding"},
    {.pointer = "/epilogue/bias",
     .kind = FieldKind::kBool,
     .slot = slot<&GemmSpec::epilogue, &EpilogueSpec::bias>(),
     .doc = "add N values of activation.dtype; with 8 bits of output.dtype, both 8: FP32"},
    activation_function_field<&GemmSpec::epilogue>(),
    {.pointer = "/epilogue/residual",
     .kind = FieldKind::kBool,
     .slot = slot<&GemmSpec::epilogue, &EpilogueSpec::residual>(),
     .doc = "add a matrix of Y's shape and type; of Y of 8 bits the bias's type"},
    {.pointer = "/epilogue/gated",
     .kind = FieldKind::kBool,
     .silent_default = true,
     .slot = slot<&GemmSpec::epilogue, &EpilogueSpec::gated>(),
     .doc = "the first half of W's rows are gates, the second ups; Y is [M, N/2]"},
    limit_field<&GemmSpec::epilogue>(),
    gate_limit_field<&GemmSpec::epilogue>(),

    {.pointer = "/deterministic",
     .kind = FieldKind::kBool,
     .slot = slot<&GemmSpec::deterministic>(),
     .doc = "the same bits from run to run: sums are added in a fixed order"},
});

constexpr auto kGemmPath = std::to_array<Field>({
    {.pointer = "/path",
     .kind = FieldKind::kWord,
     .words = kPathWords,
     .slot = slot<&GemmSpec::path>(),
     .doc = "GPU generation whose instructions are used; auto: any that the target has"},
});

constexpr auto kGemmFields =
    join_fields(header_fields<kOp>("Y[M,N] = X[M,K] * W[N,K]^T"), kGemmShape,
                weight_fields<"/weight", &GemmSpec::weight>("/activation/dtype"), kGemmActivation,
                kGemmChoices, batch_invariant_fields<&GemmSpec::batch_invariant>(), kGemmPath);

}  // namespace

const FieldTable& gemm_fields() {
  static const GemmSpec defaults;
  static const FieldTable table{kOp, kGemmFields, &defaults};
  return table;
}

}  // namespace heddle
