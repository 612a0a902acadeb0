#include "checkpoint/plan/fused_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "checkpoint/codes/float_codes.h"
#include "checkpoint/codes/half_convert.h"
#include "checkpoint/modules/layer_error.h"
#include "generator/model/group_size.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

// What two layers differ in, of what one kernel has once; empty if nothing.
std::string difference(const QuantizedRows& a, const QuantizedRows& b, TensorScales tensor_scales) {
  const WeightSpec v = a.weight();
  const WeightSpec w = b.weight();
  if (a.k() != b.k()) return "K";
  if (a.matrices() != b.matrices()) return "the number of experts";
  if (v.type != w.type) return "the type of their codes";
  if (v.bits != w.bits) return "the width of their codes";
  if (v.group_size != w.group_size || v.group_offset != w.group_offset) return "their groups";
  if (v.scale_dtype != w.scale_dtype) return "the type of their scales";
  const bool same_scale = std::bit_cast<std::uint32_t>(a.tensor_scale()) ==
                          std::bit_cast<std::uint32_t>(b.tensor_scale());
  if (v.tensor_scale != w.tensor_scale || (!same_scale && tensor_scales == TensorScales::kOne)) {
    return "the scale of the whole tensor";
  }
  if (a.group_index() != b.group_index()) return "the order of their columns (act-order)";
  return {};
}

double scale_at(DType dtype, const std::vector<std::uint8_t>& scales, std::size_t i) {
  switch (dtype) {
    case DType::kE8m0:
      return e8m0_value(scales[i]);
    case DType::kE4m3:
      return e4m3_value(scales[i]);
    case DType::kFp32:
      return float_element(TensorType::kF32, scales.data(), i);
    case DType::kFp16:
      return float_element(TensorType::kF16, scales.data(), i);
    default:
      return float_element(TensorType::kBf16, scales.data(), i);
  }
}

// FP32 holds all types of scales.
void append_floats(DType dtype, const std::vector<std::uint8_t>& scales,
                   std::vector<std::uint8_t>* to) {
  const std::size_t count = scales.size() / static_cast<std::size_t>(bytes_of(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(scale_at(dtype, scales, i));
    const auto bytes = std::bit_cast<std::array<std::uint8_t, 4>>(value);
    to->insert(to->end(), bytes.begin(), bytes.end());
  }
}

// Scales of rows of the part times that of its tensor, rounded once to FP32.
void fold_scales(const QuantizedRows& part, std::int64_t row, std::int64_t count,
                 std::uint8_t* to) {
  const DType dtype = part.weight().scale_dtype;
  const std::int64_t groups = part.groups();
  std::vector<std::uint8_t> stored(static_cast<std::size_t>(count * groups * bytes_of(dtype)));
  part.scales(row, count, stored.data());
  for (std::int64_t i = 0; i < count * groups; ++i) {
    const double exact = scale_at(dtype, stored, static_cast<std::size_t>(i)) * part.tensor_scale();
    const auto value = static_cast<float>(exact);
    std::memcpy(to + i * 4, &value, sizeof value);
  }
}

std::vector<std::int32_t> sorted_columns(const std::string& name, const QuantizedRows& layer) {
  const std::vector<std::int32_t>& index = layer.group_index();
  const int group_size = layer.weight().group_size;
  std::vector<std::int32_t> order(index.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return index[static_cast<std::size_t>(a)] < index[static_cast<std::size_t>(b)];
  });
  for (std::size_t j = 0; j < order.size(); ++j) {
    const std::int32_t group = index[static_cast<std::size_t>(order[j])];
    if (group != static_cast<std::int64_t>(j) / group_size) {
      refuse_layer(name, fmt::format("g_idx does not give each group {} columns", group_size));
    }
  }
  return order;
}

GemmSpec spec_of(const FusedLayer::Parts& parts, std::optional<DType> activation, bool folds) {
  const QuantizedRows& first = *parts.front();
  GemmSpec spec;
  spec.weight = first.weight();
  spec.shape.k = first.k();
  for (const auto& part : parts) {
    spec.shape.n += part->n();
    const bool symmetric = part->weight().zero_point == ZeroPoint::kNone;
    if (!symmetric) spec.weight.zero_point = ZeroPoint::kInt;
  }
  if (parts.size() > 1 && spec.weight.group_size == kPerTensor) {
    spec.weight.group_size = kPerChannel;
  }
  if (folds) {
    spec.weight.tensor_scale = false;
    spec.weight.scale_dtype = DType::kFp32;
  }
  const bool in_order = first.group_index().empty() && spec.weight.group_offset == 0;
  if (spec.weight.has_scales() && in_order) {
    spec.weight.group_size = kernel_group_size(spec.shape.k, spec.weight.group_size);
  }
  spec.activation = activation.value_or(first.native_dtype());
  spec.act_order = !first.group_index().empty();
  return spec;
}

}  // namespace

std::string why_apart(const std::vector<std::unique_ptr<QuantizedRows>>& parts,
                      TensorScales tensor_scales) {
  for (const auto& part : parts) {
    const std::string what = difference(*parts.front(), *part, tensor_scales);
    if (!what.empty()) {
      return fmt::format("{} and {} differ in {}", excerpt(parts.front()->name()),
                         excerpt(part->name()), what);
    }
  }
  return {};
}

FusedLayer::FusedLayer(std::string name, Parts parts, std::optional<DType> activation,
                       TensorScales tensor_scales)
    : name_(std::move(name)),
      parts_(std::move(parts)),
      folds_(tensor_scales == TensorScales::kFolded && parts_.front()->weight().tensor_scale),
      spec_(spec_of(parts_, activation, folds_)) {
  if (spec_.act_order) permutation_ = sorted_columns(name_, *parts_.front());
}

std::vector<std::int64_t> FusedLayer::heights() const {
  std::vector<std::int64_t> heights;
  for (const auto& part : parts_) heights.push_back(part->n());
  return heights;
}

ScaleBlocks FusedLayer::blocks() const {
  const bool are_blocks = std::all_of(parts_.begin(), parts_.end(),
                                      [](const auto& part) { return part->is_in_blocks(); });
  if (!are_blocks) return {};
  return {kBlockRows, kRowGroup, heights()};
}

void FusedLayer::rows(std::int64_t matrix, const std::vector<RowRun>& runs,
                      QuantizedWeights* weights) const {
  const WeightSpec& weight = spec_.weight;
  const std::int64_t k = spec_.shape.k;
  std::int64_t count = 0;
  for (const RowRun& run : runs) count += run.count;
  const std::int64_t groups = parts_.front()->groups();
  const std::int64_t scale_bytes = groups * bytes_of(weight.scale_dtype);
  const bool zeros = weight.zero_point == ZeroPoint::kInt;
  weights->codes.resize(static_cast<std::size_t>(count * k * parts_.front()->code_bytes()));
  weights->scales.resize(static_cast<std::size_t>(count * scale_bytes));
  weights->zeros.resize(static_cast<std::size_t>(zeros ? count * groups : 0));
  weights->tensor_scale = folds_ ? 1.0F : parts_.front()->tensor_scale();
  std::int64_t done = 0;
  for (const RowRun& run : runs) {
    copy_rows(matrix, run, done, weights);
    done += run.count;
  }
  split_groups(count, static_cast<std::size_t>(bytes_of(weight.scale_dtype)), weights->scales);
  if (zeros) split_groups(count, 1, weights->zeros);
  // One for all rows.
  if (weight.group_size == kPerTensor)
    weights->scales.resize(static_cast<std::size_t>(scale_bytes));
  if (!permutation_.empty()) permute(count, weights->codes);
}

// Rows of the run to row `at` of the weights and those after it, groups as the parts have them.
void FusedLayer::copy_rows(std::int64_t matrix, const RowRun& run, std::int64_t at,
                           QuantizedWeights* weights) const {
  const std::int64_t row_bytes = spec_.shape.k * parts_.front()->code_bytes();
  const std::int64_t groups = parts_.front()->groups();
  const std::int64_t scale_bytes = groups * bytes_of(spec_.weight.scale_dtype);
  std::int64_t start = 0;  // of the part, among all rows
  for (const auto& part : parts_) {
    const std::int64_t begin = std::max(run.first, start);
    const std::int64_t end = std::min(run.first + run.count, start + part->n());
    if (begin < end) {
      const std::int64_t to = at + begin - run.first;
      const std::int64_t row = matrix * part->n() + begin - start;
      part->codes(row, end - begin, weights->codes.data() + to * row_bytes);
      std::uint8_t* const scales = weights->scales.data() + to * scale_bytes;
      if (folds_) {
        fold_scales(*part, row, end - begin, scales);
      } else {
        part->scales(row, end - begin, scales);
      }
      if (!weights->zeros.empty()) {
        part->zeros(row, end - begin, weights->zeros.data() + to * groups);
      }
    }
    start += part->n();
  }
}

std::vector<std::uint8_t> FusedLayer::block_scales(std::int64_t matrix,
                                                   const std::vector<RowRun>& runs) const {
  const DType dtype = spec_.weight.scale_dtype;
  const std::int64_t groups = parts_.front()->groups();
  std::vector<std::uint8_t> stored(static_cast<std::size_t>(groups * bytes_of(dtype)));
  std::vector<std::uint8_t> scales;
  for (const RowRun& run : runs) {
    for (std::int64_t row = run.first; row < run.first + run.count; row += kBlockRows) {
      std::int64_t start = 0;  // of the part, among all rows
      auto part = parts_.begin();
      for (; row >= start + (*part)->n(); ++part) start += (*part)->n();
      (*part)->scales(matrix * (*part)->n() + row - start, 1, stored.data());
      append_floats(dtype, stored, &scales);
    }
  }
  return scales;
}

void FusedLayer::split_groups(std::int64_t count, std::size_t element,
                              std::vector<std::uint8_t>& values) const {
  const int stored = parts_.front()->weight().group_size;
  const int size = spec_.weight.group_size;
  if (size <= 0 || stored == size) return;
  const std::int64_t groups = spec_.shape.k / size;
  const std::int64_t stored_groups = parts_.front()->groups();
  std::vector<std::uint8_t> split(static_cast<std::size_t>(count * groups) * element);
  for (std::int64_t i = 0; i < count * groups; ++i) {
    const std::int64_t from = i / groups * stored_groups + i % groups * size / stored;
    std::copy_n(&values[static_cast<std::size_t>(from) * element], element,
                &split[static_cast<std::size_t>(i) * element]);
  }
  values = std::move(split);
}

void FusedLayer::permute(std::int64_t count, std::vector<std::uint8_t>& codes) const {
  const std::size_t k = permutation_.size();
  std::vector<std::uint8_t> row(k);
  for (std::size_t r = 0; r < static_cast<std::size_t>(count); ++r) {
    std::uint8_t* at = codes.data() + r * k;
    std::copy(at, at + k, row.begin());
    for (std::size_t j = 0; j < k; ++j) at[j] = row[static_cast<std::size_t>(permutation_[j])];
  }
}

}  // namespace heddle
