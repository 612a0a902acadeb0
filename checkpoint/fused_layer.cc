#include "checkpoint/fused_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "heddle/error.h"

namespace heddle {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.fuse",
              fmt::format("layer \"{}\": {}", name, why));
}

void check_alike(const std::string& name, const IntegerLayer& a, const IntegerLayer& b) {
  const auto differ = [&](const char* what, const auto& x, const auto& y) {
    if (x == y) return;
    refuse(name, fmt::format("{} and {} cannot be fused: they differ in {}; --no-fuse keeps them "
                             "apart",
                             a.name(), b.name(), what));
  };
  differ("K", a.k(), b.k());
  differ("the width of their codes", a.bits(), b.bits());
  differ("their groups", a.group_size(), b.group_size());
  differ("the type of their scales", a.scale_dtype(), b.scale_dtype());
  differ("the order of their columns (act-order)", a.group_index(), b.group_index());
}

std::vector<std::int32_t> sorted_columns(const std::string& name, const IntegerLayer& layer) {
  const std::vector<std::int32_t>& index = layer.group_index();
  std::vector<std::int32_t> order(index.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return index[static_cast<std::size_t>(a)] < index[static_cast<std::size_t>(b)];
  });
  for (std::size_t j = 0; j < order.size(); ++j) {
    const std::int32_t group = index[static_cast<std::size_t>(order[j])];
    if (group != static_cast<std::int64_t>(j) / layer.group_size()) {
      refuse(name, fmt::format("g_idx does not give each group {} columns", layer.group_size()));
    }
  }
  return order;
}

GemmSpec spec_of(const std::vector<IntegerLayer>& parts, std::optional<DType> activation,
                 bool bias) {
  const IntegerLayer& first = parts.front();
  GemmSpec spec;
  spec.shape.k = first.k();
  bool symmetric = true;
  for (const IntegerLayer& part : parts) {
    spec.shape.n += part.n();
    symmetric = symmetric && part.symmetric();
  }
  spec.weight.bits = first.bits();
  spec.weight.group_size = first.group_size();
  spec.weight.zero_point = symmetric ? ZeroPoint::kNone : ZeroPoint::kInt;
  spec.weight.scale_dtype = first.scale_dtype();
  spec.activation = activation.value_or(first.native_dtype());
  spec.epilogue.bias = bias;
  return spec;
}

}  // namespace

FusedLayer::FusedLayer(std::string name, std::vector<IntegerLayer> parts,
                       std::optional<DType> activation, bool bias)
    : name_(std::move(name)), parts_(std::move(parts)), spec_(spec_of(parts_, activation, bias)) {
  for (const IntegerLayer& part : parts_) check_alike(name_, parts_.front(), part);
  const IntegerLayer& first = parts_.front();
  if (!first.group_index().empty()) permutation_ = sorted_columns(name_, first);
}

QuantizedWeights FusedLayer::rows(std::int64_t first, std::int64_t count) const {
  const std::int64_t k = spec_.shape.k;
  const std::int64_t groups = parts_.front().groups();
  const std::int64_t scale_bytes = spec_.weight.scale_dtype == DType::kFp32 ? 4 : 2;
  const bool zeros = spec_.weight.zero_point == ZeroPoint::kInt;
  QuantizedWeights weights;
  weights.codes.resize(static_cast<std::size_t>(count * k));
  weights.scales.resize(static_cast<std::size_t>(count * groups * scale_bytes));
  weights.zeros.resize(static_cast<std::size_t>(zeros ? count * groups : 0));
  std::int64_t start = 0;  // of the part, among all rows
  for (const IntegerLayer& part : parts_) {
    const std::int64_t begin = std::max(first, start);
    const std::int64_t end = std::min(first + count, start + part.n());
    if (begin < end) {
      const std::int64_t at = begin - first;
      const std::int64_t row = begin - start;
      part.codes(row, end - begin, weights.codes.data() + at * k);
      std::memcpy(weights.scales.data() + at * groups * scale_bytes,
                  part.scales().data() + row * groups * scale_bytes,
                  static_cast<std::size_t>((end - begin) * groups * scale_bytes));
      if (zeros) {
        std::memcpy(weights.zeros.data() + at * groups, part.zeros().data() + row * groups,
                    static_cast<std::size_t>((end - begin) * groups));
      }
    }
    start += part.n();
  }
  if (!permutation_.empty()) permute(count, weights.codes);
  return weights;
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
