#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/output/convert.h"
#include "checkpoint/output/output_plan.h"
#include "checkpoint/output/packed_checkpoint.h"
#include "checkpoint/output/packed_contents.h"
#include "heddle/spec.h"
#include "heddle/version.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

PackedContents contents_of(const PackedCheckpoint& packed, const PackOptions& options) {
  PackedContents contents;
  contents.fused = options.fuse;
  contents.gated = options.gated;
  contents.dense = packed.dense;
  contents.rotates = packed.rotates;
  contents.kept = packed.kept;
  contents.unserved = packed.unserved;
  for (const PackedLayerTensors& tensors : packed.layers) {
    const PackedLayer& layer = tensors.layer;
    PackedLayerContents& noted = contents.layers[layer.group.name];
    if (tensors.bias) noted.bias = tensors.bias->info.name;
    if (tensors.pre_scale) noted.pre_scale = tensors.pre_scale->info.name;
    for (std::size_t i = 0; i < layer.group.parts.size(); ++i) {
      noted.parts.push_back({layer.group.parts[i].name, layer.heights[i]});
    }
  }
  for (const CheckpointExperts& experts : packed.experts) {
    contents.experts[experts.name] = {experts.spec.canonical_json(), experts.gate_up, experts.down,
                                      experts.routed ? experts.routed->canonical_json() : ""};
  }
  for (const MadeTensor& tensor : packed.others) contents.copied.push_back(tensor.info.name);
  return contents;
}

std::map<std::string, std::string> metadata_of(const PackedCheckpoint& packed,
                                               const PackOptions& options) {
  const TensorParallel& parallel = options.parallel;
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},
      {"heddle.version", HEDDLE_VERSION},
      {kContentsKey, contents_text(contents_of(packed, options))},
  };
  if (parallel.size > 1) {
    metadata[kRankKey] = fmt::format("{}/{}", parallel.rank, parallel.size);
  }
  const ExpertParallel& experts = options.expert_parallel;
  if (experts.size > 1) {
    metadata[kExpertRankKey] = fmt::format("{}/{}", experts.rank, experts.size);
  }
  for (const PackedLayerTensors& tensors : packed.layers) {
    const int bits = tensors.layer.group.parts.front().code_bits;
    if (bits != 0) metadata[kHeadKey] = std::to_string(bits);
  }
  for (const PackedLayerTensors& tensors : packed.layers) {
    metadata[tensors.weights.info.name] = tensors.layer.spec.canonical_json();
  }
  const bool bytes = std::any_of(packed.layers.begin(), packed.layers.end(),
                                 [](const PackedLayerTensors& tensors) {
                                   return tensors.layer.spec.gemm().has_byte_activations();
                                 });
  if (bytes) metadata["heddle.activations"] = "8";
  metadata[kLayoutKey] = std::to_string(kLayoutVersion);
  return metadata;
}

}  // namespace

ConvertReport repack_checkpoint(const Checkpoint& checkpoint, const CheckpointConfig& config,
                                const std::string& output, const ConvertOptions& options) {
  PackedCheckpoint packed = packed_checkpoint(checkpoint, config, options.pack);
  ConvertReport report;
  report.input_bytes = checkpoint.bytes();
  report.layers = packed.layers.size();
  report.skipped = packed.skipped;
  expect_quantised(packed, options.pack);
  check_conversion(checkpoint, report.layers + packed.unserved.size() + packed.kept, output);
  OutputPlan plan;
  plan.set_metadata(metadata_of(packed, options.pack));
  for (PackedLayerTensors& tensors : packed.layers) {
    plan.add(std::move(tensors.weights));
    if (tensors.permutation) plan.add(std::move(*tensors.permutation));
    if (tensors.input_scale) plan.add(std::move(*tensors.input_scale));
  }
  // Companions that are no copies follow the weights; the others lie among the copies.
  std::vector<MadeTensor> copies = std::move(packed.others);
  for (PackedLayerTensors& tensors : packed.layers) {
    for (std::optional<MadeTensor>* companion : {&tensors.pre_scale, &tensors.bias}) {
      if (!companion->has_value()) continue;
      if ((*companion)->is_copy) {
        copies.push_back(std::move(**companion));
      } else {
        plan.add(std::move(**companion));
      }
    }
  }
  std::sort(copies.begin(), copies.end(),
            [](const auto& a, const auto& b) { return a.info.name < b.info.name; });
  report.copied = copies.size();
  add_copies(std::move(copies), &plan);
  report.unserved = std::move(packed.unserved);
  report.notes = std::move(packed.notes);
  report.output_bytes = plan.write(output, options.jobs, options.progress);
  return report;
}

}  // namespace heddle
