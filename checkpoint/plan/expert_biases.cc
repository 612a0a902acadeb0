#include "checkpoint/plan/expert_biases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "checkpoint/codes/half_convert.h"
#include "checkpoint/modules/layer_error.h"
#include "checkpoint/plan/expert_order.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

std::vector<std::uint8_t> bytes_of_tensor(const Checkpoint::Entry& entry,
                                          const TensorInfo& tensor) {
  std::vector<std::uint8_t> bytes(tensor.bytes);
  entry.file->read(tensor, 0, bytes.data(), bytes.size());
  return bytes;
}

// The tensor's rows in the order in which the selections give them.
std::vector<std::int64_t> rows_of_part(const TensorInfo& tensor,
                                       const std::vector<std::vector<RowRun>>& selections) {
  std::vector<std::int64_t> rows(tensor.bytes / static_cast<unsigned>(bytes_of(tensor.type)));
  std::iota(rows.begin(), rows.end(), 0);
  for (const std::vector<RowRun>& runs : selections) {
    std::vector<std::int64_t> selected;
    for (const RowRun& run : runs) {
      selected.insert(selected.end(), rows.begin() + run.first,
                      rows.begin() + run.first + run.count);
    }
    rows = std::move(selected);
  }
  return rows;
}

std::uint16_t rounded(const std::string& product, const TensorInfo& tensor, DType dtype,
                      const std::vector<std::uint8_t>& values, std::int64_t row) {
  const double value = float_element(tensor.type, values.data(), static_cast<std::size_t>(row));
  const std::uint16_t bits = round_to_16(dtype, value);
  const std::uint16_t infinity = dtype == DType::kBf16 ? 0x7F80 : 0x7C00;
  if (std::isfinite(value) && (bits & 0x7FFF) < infinity) return bits;
  refuse_layer(product, fmt::format("the bias {} has the value {} at {}, which {} does not hold",
                                    excerpt(tensor.name), value, row, to_string(dtype)));
}

}  // namespace

void ExpertBiases::add(const Checkpoint& checkpoint, const LayerGroup& group,
                       const ViewedParts& viewed) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < group.parts.size(); ++i) {
    const LayerName& name = group.parts[i];
    Part part;
    part.rows = viewed.parts[i]->n();
    part.selections = selections_of(i, viewed.views[i].rows);
    if (presence_.size() == i) presence_.emplace_back();
    Presence& presence = presence_[i];
    if (const TensorInfo* const found = checkpoint.find(bias_of(name))) {
      tensors_.insert(found->name);
      const bool stacked =
          name.matrix >= 0 && !found->shape.empty() && name.matrix < found->shape.front();
      part.tensor = stacked ? member_of_stack(*found, name.matrix) : *found;
      const auto rows = static_cast<std::uint64_t>(viewed.plain_heights[i]);
      const auto element = static_cast<std::uint64_t>(bytes_of(found->type));
      const bool is_known = found->type == TensorType::kF16 || found->type == TensorType::kBf16 ||
                            found->type == TensorType::kF32;
      if (!is_known || stacked != (name.matrix >= 0) || part.tensor.bytes != rows * element) {
        refuse_layer(group.name,
                     fmt::format("the bias {} is {}, expected {} values of F16, BF16 or F32{}",
                                 excerpt(found->name), describe(found->type, found->shape), rows,
                                 name.matrix >= 0 ? " for each expert" : ""));
      }
      const Checkpoint::Entry entry = checkpoint.at(found->name);
      const std::vector<std::uint8_t> bytes = bytes_of_tensor(entry, part.tensor);
      const bool is_zero =
          std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
      if (!is_zero && presence.present.empty()) presence.present = found->name;
      // Of columns that several ranks share one rank adds the bias.
      if (viewed.views[i].has_bias) {
        part.entry = entry;
        any_ = any_ || !is_zero;
      }
    } else if (presence.missing.empty()) {
      presence.missing = bias_of(name);
    }
    parts.push_back(std::move(part));
  }
  experts_.push_back(std::move(parts));
}

std::shared_ptr<const ExpertBiases::Selections> ExpertBiases::selections_of(
    std::size_t part, const Selections& selections) const {
  if (!experts_.empty() && part < experts_.back().size()) {
    const std::shared_ptr<const Selections>& last = experts_.back()[part].selections;
    if (*last == selections) return last;
  }
  return std::make_shared<const Selections>(selections);
}

void ExpertBiases::check_complete(const std::string& product, bool expected) const {
  for (const Presence& presence : presence_) {
    if (presence.missing.empty() || (!expected && presence.present.empty())) continue;
    const std::string why = presence.present.empty()
                                ? "experts of this model type have biases"
                                : fmt::format("there is {}", excerpt(presence.present));
    refuse_layer(product,
                 fmt::format("the tensor {} is missing: {}", excerpt(presence.missing), why));
  }
}

void ExpertBiases::order_rows(const std::vector<std::vector<std::int32_t>>& orders) {
  for (std::size_t expert = 0; expert < experts_.size(); ++expert) {
    if (orders[expert].empty()) continue;
    for (Part& part : experts_[expert]) {
      if (part.entry.tensor == nullptr) continue;
      Selections selections = *part.selections;
      selections.push_back(ordered_rows(part.tensor.name, part.rows, orders[expert]));
      part.selections = std::make_shared<const Selections>(std::move(selections));
    }
  }
}

MadeTensor ExpertBiases::made(const std::string& product, DType dtype, std::int64_t first,
                              std::int64_t count) const {
  std::int64_t rows = 0;
  for (const Part& part : experts_.front()) rows += part.rows;
  MadeTensor made;
  made.info.name = product + ".bias";
  made.info.type = dtype == DType::kBf16 ? TensorType::kBf16 : TensorType::kF16;
  made.info.shape = {count, rows};
  made.info.bytes = static_cast<std::uint64_t>(count * rows * bytes_of(dtype));
  const auto shared = std::make_shared<const std::vector<std::vector<Part>>>(
      experts_.begin() + first, experts_.begin() + first + count);
  made.make = [experts = shared, product, dtype](ByteStream* out) {
    for (const std::vector<Part>& parts : *experts) {
      for (const Part& part : parts) {
        std::vector<std::uint16_t> values(static_cast<std::size_t>(part.rows));
        if (part.entry.tensor != nullptr) {
          const std::vector<std::uint8_t> stored = bytes_of_tensor(part.entry, part.tensor);
          const std::vector<std::int64_t> rows = rows_of_part(part.tensor, *part.selections);
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = rounded(product, part.tensor, dtype, stored, rows[i]);
          }
        }
        out->write(values.data(), values.size() * sizeof values[0]);
      }
    }
  };
  return made;
}

}  // namespace heddle
