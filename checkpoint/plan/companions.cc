#include "checkpoint/plan/companions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "checkpoint/modules/layer_error.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

void check_size(const std::string& layer, const TensorInfo& tensor, std::int64_t want) {
  const std::uint64_t elements = tensor.bytes / static_cast<unsigned>(bytes_of(tensor.type));
  if (elements == static_cast<std::uint64_t>(want)) return;
  refuse_layer(layer, fmt::format("the tensor {} is {}, expected {} values", tensor.name,
                                  describe(tensor.type, tensor.shape), want));
}

void clear_if_none(std::vector<const TensorInfo*>& tensors) {
  if (std::count(tensors.begin(), tensors.end(), nullptr) == std::ssize(tensors)) tensors.clear();
}

// Quantisers write +0; a bias that holds -0 is one like any other.
bool is_zero(const Checkpoint& checkpoint, const TensorInfo& tensor) {
  const std::vector<std::uint8_t> bytes = checkpoint.read(tensor.name);
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

std::string Companions::why_apart(const Checkpoint& checkpoint, const LayerGroup& group) {
  const TensorInfo* first_bias = nullptr;
  const TensorInfo* first_scale = checkpoint.find(pre_scale_of(group.parts.front().name));
  for (const LayerName& part : group.parts) {
    const TensorInfo* bias = checkpoint.find(bias_of(part));
    if (bias != nullptr && first_bias != nullptr && bias->type != first_bias->type) {
      return "the types of the biases differ";
    }
    if (bias != nullptr) first_bias = bias;
    const TensorInfo* scale = checkpoint.find(pre_scale_of(part.name));
    const bool both = scale != nullptr && first_scale != nullptr;
    if (both ? scale->type != first_scale->type ||
                   checkpoint.read(scale->name) != checkpoint.read(first_scale->name)
             : scale != first_scale) {
      return "the parts do not have the same pre_quant_scale";
    }
  }
  return {};
}

Companions::Companions(const Checkpoint& checkpoint, const LayerGroup& group,
                       const FusedLayer& layer, std::vector<LayerView> views,
                       const std::vector<std::int64_t>& plain_heights, std::int64_t plain_k)
    : checkpoint_(&checkpoint),
      pre_scale_name_(pre_scale_of(group.name)),
      heights_(layer.heights()),
      matrices_(layer.matrices()),
      views_(std::move(views)) {
  LayerName whole = group.parts.front();
  whole.name = group.name;
  bias_name_ = bias_of(whole);
  read_biases(group);
  for (const LayerName& part : group.parts) {
    pre_scales_.push_back(checkpoint.find(pre_scale_of(part.name)));
  }
  check_sizes(group, plain_heights, plain_k);
  clear_if_none(biases_);
  clear_if_none(pre_scales_);
}

void Companions::read_biases(const LayerGroup& group) {
  for (const LayerName& part : group.parts) {
    const TensorInfo* bias = checkpoint_->find(bias_of(part));
    if (bias != nullptr && !is_float(bias->type)) {
      refuse_layer(part.name, fmt::format("the bias {} is {}, not of F16, BF16, F32 or F64",
                                          excerpt(bias->name), describe(bias->type, bias->shape)));
    }
    // Also that of a rank which does not add it.
    if (bias != nullptr && (!views_[biases_.size()].has_bias || is_zero(*checkpoint_, *bias))) {
      left_out_.push_back(bias->name);
      bias = nullptr;
    }
    biases_.push_back(bias);
  }
}

void Companions::check_sizes(const LayerGroup& group,
                             const std::vector<std::int64_t>& plain_heights, std::int64_t k) const {
  for (std::size_t i = 0; i < biases_.size(); ++i) {
    const std::string& name = group.parts[i].name;
    if (biases_[i] != nullptr) check_size(name, *biases_[i], matrices_ * plain_heights[i]);
    if (pre_scales_[i] != nullptr) check_size(name, *pre_scales_[i], k);
  }
}

bool Companions::is_made_anew() const { return heights_.size() > 1 || views_.front().is_changed(); }

std::vector<std::string> Companions::replaced() const {
  std::vector<std::string> names = left_out_;
  if (!is_made_anew()) return names;
  for (const auto* tensors : {&biases_, &pre_scales_}) {
    for (const TensorInfo* tensor : *tensors) {
      if (tensor != nullptr) names.push_back(tensor->name);
    }
  }
  return names;
}

std::vector<std::uint8_t> Companions::bias_of_part(std::size_t part) const {
  std::vector<std::uint8_t> values = checkpoint_->read(biases_[part]->name);
  const std::int64_t bytes = bytes_of(biases_[part]->type);
  for (const std::vector<RowRun>& runs : views_[part].rows) {
    const std::int64_t matrix = std::ssize(values) / matrices_;
    std::vector<std::uint8_t> selected;
    for (std::int64_t m = 0; m < matrices_; ++m) {
      for (const RowRun& run : runs) {
        const auto first = values.begin() + m * matrix + run.first * bytes;
        selected.insert(selected.end(), first, first + run.count * bytes);
      }
    }
    values = std::move(selected);
  }
  return values;
}

// The parts' rows after each other, matrix by matrix; zeros for a part without a bias.
std::vector<std::uint8_t> Companions::joined_biases() const {
  const std::int64_t n = std::accumulate(heights_.begin(), heights_.end(), std::int64_t{0});
  const TensorInfo& some = **std::find_if(biases_.begin(), biases_.end(),
                                          [](const TensorInfo* bias) { return bias != nullptr; });
  const std::int64_t bytes = bytes_of(some.type);
  std::vector<std::uint8_t> joined(static_cast<std::size_t>(matrices_ * n * bytes));
  std::int64_t start = 0;
  for (std::size_t i = 0; i < biases_.size(); ++i) {
    const std::int64_t run = heights_[i] * bytes;
    const std::vector<std::uint8_t> part =
        biases_[i] == nullptr ? std::vector<std::uint8_t>() : bias_of_part(i);
    for (std::int64_t m = 0; m * run < std::ssize(part); ++m) {
      std::copy_n(part.begin() + m * run, run, joined.begin() + m * n * bytes + start);
    }
    start += run;
  }
  return joined;
}

std::optional<MadeTensor> Companions::pre_scale() const {
  if (!has_pre_scale()) return std::nullopt;
  const Checkpoint::Entry& entry = checkpoint_->at(pre_scales_.front()->name);
  if (!is_made_anew()) return copied_tensor(entry);
  MadeTensor made;
  made.info.name = pre_scale_name_;
  made.info.type = entry.tensor->type;
  const std::int64_t element = bytes_of(entry.tensor->type);
  ColumnRun columns = views_.front().columns;
  if (columns.count == 0) columns.count = static_cast<std::int64_t>(entry.tensor->bytes) / element;
  made.info.shape = {columns.count};
  made.info.bytes = static_cast<std::uint64_t>(columns.count * element);
  made.make = [entry, first = columns.first * element, bytes = made.info.bytes](ByteStream* out) {
    std::vector<std::uint8_t> values(bytes);
    entry.file->read(*entry.tensor, static_cast<std::uint64_t>(first), values.data(), bytes);
    out->write(values.data(), bytes);
  };
  return made;
}

std::optional<MadeTensor> Companions::bias() const {
  if (!has_bias()) return std::nullopt;
  const TensorInfo& some = **std::find_if(biases_.begin(), biases_.end(),
                                          [](const TensorInfo* bias) { return bias != nullptr; });
  if (!is_made_anew()) return copied_tensor(checkpoint_->at(some.name));
  MadeTensor made;
  made.info.name = bias_name_;
  made.info.type = some.type;
  const std::int64_t n = std::accumulate(heights_.begin(), heights_.end(), std::int64_t{0});
  made.info.shape = matrices_ == 1 ? std::vector{n} : std::vector{matrices_, n};
  made.info.bytes = static_cast<std::uint64_t>(matrices_ * n * bytes_of(some.type));
  made.make = [companions = *this](ByteStream* out) {
    const std::vector<std::uint8_t> bytes = companions.joined_biases();
    out->write(bytes.data(), bytes.size());
  };
  return made;
}

}  // namespace heddle
