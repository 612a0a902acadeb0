#include "checkpoint/output_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "checkpoint/work_queue.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;

void copy_tensor(const Checkpoint::Entry& entry, const SafetensorsWriter& writer,
                 std::size_t tensor) {
  const std::uint64_t bytes = entry.tensor->bytes;
  std::vector<std::uint8_t> piece(std::min(bytes, kPiece));
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    const std::size_t count = std::min(kPiece, bytes - at);
    entry.file->read(*entry.tensor, at, piece.data(), count);
    writer.write(tensor, at, piece.data(), count);
  }
}

}  // namespace

void OutputPlan::add(const std::string& label, std::vector<TensorInfo> tensors, Make make) {
  items_.push_back({label, tensors_.size(), std::move(make)});
  for (TensorInfo& tensor : tensors) tensors_.push_back(std::move(tensor));
}

void OutputPlan::copy(const Checkpoint::Entry& entry) {
  TensorInfo tensor;
  tensor.name = entry.tensor->name;
  tensor.type = entry.tensor->type;
  tensor.shape = entry.tensor->shape;
  add(tensor.name, {tensor}, [entry](const SafetensorsWriter& writer, std::size_t first) {
    copy_tensor(entry, writer, first);
  });
}

std::uint64_t OutputPlan::write(const std::string& output, int jobs,
                                const Progress& progress) const {
  std::set<std::string> names;
  std::uint64_t bytes = 0;
  for (const TensorInfo& tensor : tensors_) {
    const std::optional<std::uint64_t> size = tensor_bytes(tensor.type, tensor.shape);
    if (!names.insert(tensor.name).second || !size) {
      throw Error(
          ErrorCategory::kFile, "checkpoint.collision",
          fmt::format(
              "the output would have the tensor \"{}\" twice: the checkpoint has one of that name, "
              "too, or it would be larger than a file can be",
              excerpt(tensor.name)));
    }
    bytes += *size;
  }
  SafetensorsWriter writer(output, tensors_, metadata_);
  std::mutex mutex;
  std::size_t done = 0;
  run_all(items_.size(), jobs, [&](std::size_t i) {
    items_[i].make(writer, items_[i].first);
    const std::lock_guard<std::mutex> lock(mutex);
    ++done;
    if (progress) progress(items_[i].label, done, items_.size());
  });
  writer.commit();
  return bytes;
}

void refuse_plain_checkpoint() {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.not_quantised",
              "the checkpoint has no layer with quantised weights");
}

void check_conversion(const Checkpoint& checkpoint, std::size_t layers, const std::string& output) {
  if (checkpoint.is_of(output)) {
    throw Error(ErrorCategory::kUsage, "checkpoint.output",
                fmt::format("{} is a file of the checkpoint; name another for the output",
                            excerpt(output)));
  }
  if (layers == 0) refuse_plain_checkpoint();
}

std::size_t copy_others(const Checkpoint& checkpoint, const std::vector<std::string>& consumed,
                        OutputPlan* plan) {
  const std::set<std::string> gone(consumed.begin(), consumed.end());
  std::vector<Checkpoint::Entry> others;
  for (const auto& [name, entry] : checkpoint.tensors()) {
    if (gone.count(name) == 0) others.push_back(entry);
  }
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) {
    return bytes_of(a.tensor->type) > bytes_of(b.tensor->type);
  });
  for (const Checkpoint::Entry& entry : others) plan->copy(entry);
  return others.size();
}

}  // namespace heddle
