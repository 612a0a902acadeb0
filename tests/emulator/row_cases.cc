#include "tests/emulator/row_cases.h"

#include <fmt/core.h>

#include <utility>

namespace heddle {
namespace {

struct Work {
  std::string name;
  RowTransformSpec spec;
};

Work norm(NormType type, bool residual, int weight_offset, bool bias) {
  Work work;
  work.name = type == NormType::kRms ? "Rms" : "Layer";
  if (residual) work.name += "Residual";
  if (weight_offset != 0) work.name += "Offset";
  if (bias) work.name += "Bias";
  work.spec.residual = residual;
  work.spec.norm = {type, 1e-5F, weight_offset, bias};
  return work;
}

Work gate(GateOrder order, Activation activation) {
  constexpr const char* kOrders[] = {"Plain", "Halves", "Interleaved"};
  constexpr const char* kActivations[] = {"None", "Relu", "Gelu", "GeluTanh", "Silu", "Relu2"};
  Work work;
  work.name =
      std::string(kActivations[static_cast<int>(activation)]) + kOrders[static_cast<int>(order)];
  work.spec.gate = {order, activation};
  return work;
}

std::vector<Work> every_work() {
  std::vector<Work> all;
  for (const bool residual : {false, true}) {
    for (const int offset : {0, 1}) {
      all.push_back(norm(NormType::kRms, residual, offset, false));
      for (const bool bias : {false, true}) {
        all.push_back(norm(NormType::kLayer, residual, offset, bias));
      }
    }
  }
  for (const auto order : {GateOrder::kNone, GateOrder::kHalves, GateOrder::kInterleaved}) {
    for (int i = order == GateOrder::kNone ? 1 : 0; i < 6; ++i) {
      all.push_back(gate(order, static_cast<Activation>(i)));
    }
  }
  return all;
}

constexpr int kColumns[] = {8, 64, 96, 2048, 4096, 5120, 8192, 12288, 18432};

// The ways to store 8 bits.
std::vector<RowOutputSpec> every_output() {
  std::vector<RowOutputSpec> all;
  const auto add = [&](RowDtype dtype, RowGranularity granularity) -> RowOutputSpec& {
    RowOutputSpec output;
    output.dtype = dtype;
    output.granularity = granularity;
    output.pre_scale = all.size() % 3 == 1;
    all.push_back(output);
    return all.back();
  };
  for (const auto dtype : {RowDtype::kInt8, RowDtype::kFp8E4m3, RowDtype::kFp8E5m2}) {
    add(dtype, RowGranularity::kTensor);
    add(dtype, RowGranularity::kToken);
    for (const auto layout : {ScaleLayout::kRowMajor, ScaleLayout::kColumnMajor}) {
      add(dtype, RowGranularity::kGroup).scale_layout = layout;
      if (dtype == RowDtype::kInt8) continue;
      RowOutputSpec& powers = add(dtype, RowGranularity::kGroup);
      powers.scale_layout = layout;
      powers.scale_dtype = RowScaleDtype::kE8m0;
    }
    if (dtype == RowDtype::kInt8) add(dtype, RowGranularity::kToken).symmetric = false;
  }
  return all;
}

Work with_output(Work work, const RowOutputSpec& output) {
  constexpr const char* kDtypes[] = {"Fp16", "Bf16", "Int8", "E4m3", "E5m2"};
  constexpr const char* kGranularities[] = {"None", "Tensor", "Token", "Group"};
  work.name += std::string("To") + kDtypes[static_cast<int>(output.dtype)] +
               kGranularities[static_cast<int>(output.granularity)];
  if (!output.symmetric) work.name += "Zeros";
  if (output.scale_dtype == RowScaleDtype::kE8m0) work.name += "Powers";
  if (output.scale_layout == ScaleLayout::kColumnMajor) work.name += "Columns";
  if (output.pre_scale) work.name += "Scaled";
  work.spec.output = output;
  return work;
}

std::vector<RowCase> make_row_cases() {
  std::vector<RowCase> cases;
  const auto add = [&](const Work& work, int columns, DType dtype, bool many) {
    RowTransformSpec spec = work.spec;
    spec.shape.columns = columns;
    spec.input = dtype;
    if (!spec.output.is_quantized()) spec.output.dtype = row_dtype(dtype);
    cases.push_back({fmt::format("{}{}Of{}{}", work.name, dtype == DType::kBf16 ? "Bf16" : "Fp16",
                                 columns, many ? "Many" : "Few"),
                     Spec::from_row_transform(spec), many});
  };
  // Everything that a spec may ask for, in both types, at sizes that take turns.
  std::size_t turn = 0;
  for (const Work& work : every_work()) {
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      add(work, kColumns[turn * 4 % std::size(kColumns)], dtype, turn / 2 % 2 == 0);
      ++turn;
    }
  }
  // Every size with what synchronises most, and with two inputs.
  for (const int columns : kColumns) {
    for (const bool many : {false, true}) {
      const DType dtype = (columns / 8 + (many ? 1 : 0)) % 2 == 0 ? DType::kFp16 : DType::kBf16;
      for (const Work& work :
           {norm(NormType::kRms, true, 1, false), norm(NormType::kLayer, true, 0, true),
            gate(GateOrder::kHalves, Activation::kSilu)}) {
        add(work, columns, dtype, many);
      }
    }
  }
  // Lanes without elements, in a warp and behind the last warp's; rows that no block holds.
  add(norm(NormType::kLayer, false, 0, true), 1000, DType::kBf16, true);
  add(norm(NormType::kLayer, true, 0, false), 264, DType::kFp16, true);
  add(norm(NormType::kRms, true, 0, false), 32776, DType::kBf16, true);
  add(norm(NormType::kLayer, true, 1, true), 65536, DType::kFp16, true);
  add(norm(NormType::kRms, false, 0, false), 65544, DType::kBf16, true);
  // The most columns that few rows may have in registers, where weights are not.
  add(norm(NormType::kLayer, true, 0, true), 32768, DType::kBf16, false);
  // All ways to store 8 bits: of X itself, which is exact, and behind all that may come before. Of
  // rows below a group, with a group that is not full, of several groups, and of several blocks.
  const Work works[] = {
      norm(NormType::kRms, true, 0, false),  gate(GateOrder::kHalves, Activation::kSilu),
      norm(NormType::kLayer, true, 1, true), gate(GateOrder::kInterleaved, Activation::kNone),
      norm(NormType::kRms, false, 1, false), gate(GateOrder::kNone, Activation::kGelu)};
  constexpr int kQuantizedColumns[] = {64, 8, 1000, 136, 96, 4096, 2056, 8192};
  for (const RowOutputSpec& output : every_output()) {
    Work plain;
    plain.name = "X";
    for (const Work& work : {plain, plain, works[turn % 6], works[(turn + 3) % 6]}) {
      const DType dtype = turn % 2 == 0 ? DType::kBf16 : DType::kFp16;
      add(with_output(work, output), kQuantizedColumns[turn * 3 % 8], dtype, turn / 2 % 2 == 0);
      ++turn;
    }
  }
  // A scale for each row: rows in warps, in blocks, and those that are read again.
  for (const int columns : {264, 5120, 14336, 28672, 65544}) {
    for (const bool many : {false, true}) {
      RowOutputSpec output;
      output.dtype = many ? RowDtype::kInt8 : RowDtype::kFp8E4m3;
      output.granularity = RowGranularity::kToken;
      output.symmetric = !many;
      output.pre_scale = columns % 3 == 0;
      const DType dtype = many ? DType::kFp16 : DType::kBf16;
      Work plain;
      plain.name = "X";
      add(with_output(plain, output), columns, dtype, many);
      add(with_output(gate(GateOrder::kHalves, Activation::kRelu), output), columns, dtype, many);
      add(with_output(norm(NormType::kLayer, true, 0, true), output), columns, dtype, many);
    }
  }
  return cases;
}

}  // namespace

Plan RowCase::plan() const {
  Target target = target_from_name("h200");
  target.sm_count = 2;
  Plan plan = resolve(spec, target);
  PlannedKernel kernel = many ? plan.kernels.back() : plan.kernels.front();
  kernel.size_min = spec.row_transform().shape.m_min;
  kernel.size_max = spec.row_transform().shape.m_max;
  plan.kernels = {std::move(kernel)};
  return plan;
}

const std::vector<RowCase>& row_cases() {
  static const std::vector<RowCase> cases = make_row_cases();
  return cases;
}

}  // namespace heddle
