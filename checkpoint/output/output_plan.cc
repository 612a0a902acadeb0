#include "checkpoint/output/output_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "checkpoint/files/work_queue.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {

std::uint64_t OutputPlan::write(const std::string& output, int jobs,
                                const Progress& progress) const {
  std::set<std::string> names;
  std::vector<TensorInfo> infos;
  std::uint64_t bytes = 0;
  for (const MadeTensor& tensor : tensors_) {
    const TensorInfo& info = tensor.info;
    const std::optional<std::uint64_t> size = tensor_bytes(info.type, info.shape);
    if (!names.insert(info.name).second || !size) refuse_collision(info.name);
    bytes += *size;
    infos.push_back(info);
    infos.back().bytes = *size;
  }
  SafetensorsWriter writer(output, infos, metadata_);
  std::mutex mutex;
  std::size_t done = 0;
  run_all(tensors_.size(), jobs, [&](std::size_t i) {
    const ByteSink sink = [&](std::size_t offset, const void* data, std::size_t count) {
      writer.write(i, offset, data, count);
      return true;
    };
    ByteStream stream(sink, infos[i].bytes);
    tensors_[i].make(&stream);
    stream.finish();
    const std::lock_guard<std::mutex> lock(mutex);
    ++done;
    if (progress) progress(infos[i].name, done, infos.size());
  });
  writer.commit();
  return bytes;
}

void refuse_collision(const std::string& name) {
  throw Error(
      ErrorCategory::kFile, "checkpoint.collision",
      fmt::format(
          "the output would have the tensor \"{}\" twice: the checkpoint has one of that name, "
          "too, or it would be larger than a file can be",
          excerpt(name)));
}

void refuse_plain_checkpoint() {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.not_quantised",
              "the checkpoint has no layer with quantised weights");
}

void refuse_plain_checkpoint(const PackOptions& options) {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.not_quantised",
              std::string("the checkpoint has no layer with quantised weights") +
                  (options.dense ? ", and none of 16 bits in the places that its model type has"
                                 : "; --dense (CheckpointOptions::dense) packs those of 16 bits"));
}

void check_conversion(const Checkpoint& checkpoint, std::size_t layers, const std::string& output) {
  if (checkpoint.is_of(output)) {
    throw Error(ErrorCategory::kUsage, "checkpoint.output",
                fmt::format("{} is a file of the checkpoint; name another for the output",
                            excerpt(output)));
  }
  if (layers == 0) refuse_plain_checkpoint();
}

std::vector<MadeTensor> copies_of_others(const Checkpoint& checkpoint,
                                         const std::vector<std::string>& consumed) {
  const std::set<std::string> gone(consumed.begin(), consumed.end());
  std::vector<MadeTensor> copies;
  for (const auto& [name, entry] : checkpoint.tensors()) {
    if (gone.count(name) == 0) copies.push_back(copied_tensor(entry));
  }
  return copies;
}

void add_copies(std::vector<MadeTensor> copies, OutputPlan* plan) {
  std::stable_sort(copies.begin(), copies.end(), [](const auto& a, const auto& b) {
    return bytes_of(a.info.type) > bytes_of(b.info.type);
  });
  for (MadeTensor& copy : copies) plan->add(std::move(copy));
}

}  // namespace heddle
