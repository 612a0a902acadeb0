#include "checkpoint/fused_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "heddle/error.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.fuse",
              fmt::format("layer \"{}\": {}", name, why));
}

void check_alike(const std::string& name, const QuantizedRows& a, const QuantizedRows& b) {
  const auto differ = [&](const char* what, const auto& x, const auto& y) {
    if (x == y) return;
    refuse(name, fmt::format("{} and {} cannot be fused: they differ in {}; --no-fuse keeps them "
                             "apart",
                             a.name(), b.name(), what));
  };
  const WeightSpec v = a.weight();
  const WeightSpec w = b.weight();
  differ("K", a.k(), b.k());
  differ("the number of experts", a.matrices(), b.matrices());
  differ("the type of their codes", v.type, w.type);
  differ("the width of their codes", v.bits, w.bits);
  differ("their groups", v.group_size, w.group_size);
  differ("the type of their scales", v.scale_dtype, w.scale_dtype);
  differ("the scale of the whole tensor", v.tensor_scale, w.tensor_scale);
  differ("the scale of the whole tensor", std::bit_cast<std::uint32_t>(a.tensor_scale()),
         std::bit_cast<std::uint32_t>(b.tensor_scale()));
  differ("the order of their columns (act-order)", a.group_index(), b.group_index());
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
      refuse(name, fmt::format("g_idx does not give each group {} columns", group_size));
    }
  }
  return order;
}

GemmSpec spec_of(const FusedLayer::Parts& parts, std::optional<DType> activation) {
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
  spec.activation = activation.value_or(first.native_dtype());
  spec.act_order = !first.group_index().empty();
  return spec;
}

}  // namespace

FusedLayer::FusedLayer(std::string name, Parts parts, std::optional<DType> activation)
    : name_(std::move(name)), parts_(std::move(parts)), spec_(spec_of(parts_, activation)) {
  for (const auto& part : parts_) check_alike(name_, *parts_.front(), *part);
  if (spec_.act_order) permutation_ = sorted_columns(name_, *parts_.front());
}

std::vector<std::int64_t> FusedLayer::heights() const {
  std::vector<std::int64_t> heights;
  for (const auto& part : parts_) heights.push_back(part->n());
  return heights;
}

void FusedLayer::rows(std::int64_t matrix, std::int64_t first, std::int64_t count,
                      QuantizedWeights* weights) const {
  const WeightSpec& weight = spec_.weight;
  const std::int64_t k = spec_.shape.k;
  const std::int64_t groups = parts_.front()->groups();
  const std::int64_t scale_bytes = groups * bytes_of(weight.scale_dtype);
  const bool zeros = weight.zero_point == ZeroPoint::kInt;
  weights->codes.resize(static_cast<std::size_t>(count * k));
  weights->scales.resize(static_cast<std::size_t>(count * scale_bytes));
  weights->zeros.resize(static_cast<std::size_t>(zeros ? count * groups : 0));
  weights->tensor_scale = parts_.front()->tensor_scale();
  std::int64_t start = 0;  // of the part, among all rows
  for (const auto& part : parts_) {
    const std::int64_t begin = std::max(first, start);
    const std::int64_t end = std::min(first + count, start + part->n());
    if (begin < end) {
      const std::int64_t at = begin - first;
      const std::int64_t row = matrix * part->n() + begin - start;
      part->codes(row, end - begin, weights->codes.data() + at * k);
      part->scales(row, end - begin, weights->scales.data() + at * scale_bytes);
      if (zeros) part->zeros(row, end - begin, weights->zeros.data() + at * groups);
    }
    start += part->n();
  }
  // One for all rows.
  if (weight.group_size == kPerTensor)
    weights->scales.resize(static_cast<std::size_t>(scale_bytes));
  if (!permutation_.empty()) permute(count, weights->codes);
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
