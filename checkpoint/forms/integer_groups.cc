// Scales, and what they and the config say about groups.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "checkpoint/forms/integer_reader.h"

namespace heddle {

const TensorInfo& IntegerReader::scale_tensor(const char* suffix) {
  const TensorInfo& scales = tensor(suffix);
  if (scales.type != TensorType::kF16 && scales.type != TensorType::kBf16 &&
      scales.type != TensorType::kF32) {
    contradiction(fmt::format("the tensor {} is {}, not F16, BF16 or F32", full(suffix),
                              describe(scales.type, scales.shape)));
  }
  if (scales.shape.size() != 2 && !is_one_for_all(scales)) {
    contradiction(fmt::format("the tensor {} is {}, not of two sides{}", full(suffix),
                              describe(scales.type, scales.shape),
                              scheme_.group_size == kPerTensor ? " and not of one element" : ""));
  }
  layer_.scale_type = scales.type;
  return scales;
}

bool IntegerReader::is_one_for_all(const TensorInfo& tensor) const {
  return scheme_.group_size == kPerTensor &&
         tensor.bytes == static_cast<std::uint64_t>(bytes_of(tensor.type));
}

void IntegerReader::read_scale_of_tensor(const TensorInfo& scale) {
  set_groups(1);
  layer_.group_size = kPerTensor;
  if (load_ == Load::kShape) return;
  const std::vector<std::uint8_t> stored = checkpoint_.read(scale.name);
  for (std::int64_t row = 0; row < layer_.codes.n; ++row) {
    layer_.scales.insert(layer_.scales.end(), stored.begin(), stored.end());
  }
}

void IntegerReader::set_groups(std::int64_t groups) {
  if (groups < 1 || groups > layer_.codes.k) {
    contradiction(fmt::format("{} groups of scales for K = {}", groups, layer_.codes.k));
  }
  layer_.groups = groups;
  const std::int64_t k = layer_.codes.k;
  const int said = scheme_.group_size.value_or(0);
  if (said > 0 && (k + said - 1) / said == groups) {
    layer_.group_size = said;
  } else if (said > 0 || (said == kPerChannel && groups != 1)) {
    contradiction(
        fmt::format("{} groups of scales for K = {}, but the config's group_size is {}: "
                    "it, bits, quant_method or version is not that of these tensors",
                    groups, k, said));
  } else if (groups == 1) {
    layer_.group_size = kPerChannel;
  } else if (k % groups == 0 && std::has_single_bit(static_cast<std::uint64_t>(k / groups))) {
    layer_.group_size = static_cast<int>(k / groups);
  } else {
    contradiction(
        fmt::format("{} groups of scales for K = {}: the config has no group_size, and "
                    "several are possible",
                    groups, k));
  }
}

void IntegerReader::read_scales_by_group(const char* suffix) {
  const TensorInfo& scales = scale_tensor(suffix);
  if (is_one_for_all(scales)) return read_scale_of_tensor(scales);
  set_groups(scales.shape[0]);
  expect_shape(suffix, {layer_.groups, layer_.codes.n});
  if (load_ == Load::kShape) return;
  const std::vector<std::uint8_t> stored = checkpoint_.read(scales.name);
  const auto width = static_cast<std::size_t>(bytes_of(scales.type));
  const auto n = static_cast<std::size_t>(layer_.codes.n);
  const auto groups = static_cast<std::size_t>(layer_.groups);
  layer_.scales.resize(stored.size());
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t i = 0; i < n; ++i) {
      std::memcpy(&layer_.scales[(i * groups + g) * width], &stored[(g * n + i) * width], width);
    }
  }
}

void IntegerReader::read_scales_by_row(const char* suffix) {
  const TensorInfo& scales = scale_tensor(suffix);
  if (is_one_for_all(scales)) return read_scale_of_tensor(scales);
  set_groups(scales.shape[1]);
  expect_shape(suffix, {layer_.codes.n, layer_.groups});
  if (load_ == Load::kAll) layer_.scales = checkpoint_.read(scales.name);
}

void IntegerReader::read_group_index(const char* suffix) {
  const TensorInfo* found = checkpoint_.find(full(suffix));
  if (found == nullptr) {
    if (!scheme_.act_order || layer_.groups == 1) return;
    contradiction(
        fmt::format("the tensor {} is missing: the config says that columns are out of "
                    "order (act-order)",
                    full(suffix)));
  }
  if (found->type != TensorType::kI32) contradiction(full(suffix) + " is not of I32");
  expect_shape(suffix, {layer_.codes.k});
  const std::vector<std::uint32_t> words = read_words(suffix);
  std::vector<std::int32_t> index(words.begin(), words.end());
  // compressed-tensors marks an index that is not in use. GPTQ has no such mark.
  const bool may_be_unused = std::string_view(suffix) == ".weight_g_idx";
  if (may_be_unused &&
      std::all_of(index.begin(), index.end(), [](std::int32_t g) { return g == -1; }))
    return;
  bool in_order = true;
  const std::int64_t size = layer_.group_size > 0 ? layer_.group_size : layer_.codes.k;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= layer_.groups) {
      contradiction(fmt::format("{}[{}] is {}, but there are {} groups", full(suffix), i, index[i],
                                layer_.groups));
    }
    in_order = in_order && index[i] == static_cast<std::int64_t>(i) / size;
  }
  if (!in_order) layer_.group_index = std::move(index);
}

}  // namespace heddle
