#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/convert.h"
#include "checkpoint/output_plan.h"
#include "checkpoint/packed_checkpoint.h"
#include "heddle/spec.h"
#include "heddle/version.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

std::map<std::string, std::string> metadata_of(const PackedCheckpoint& packed,
                                               const TensorParallel& parallel) {
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},
      {"heddle.version", HEDDLE_VERSION},
  };
  if (parallel.size > 1) {
    metadata["heddle.tp"] = fmt::format("{}/{}", parallel.rank, parallel.size);
  }
  for (const PackedLayerTensors& tensors : packed.layers) {
    const int bits = tensors.layer.group.parts.front().code_bits;
    if (bits != 0) metadata["heddle.lm_head"] = std::to_string(bits);
  }
  int version = 1;  // that the bytes of all layers have had since
  for (const PackedLayerTensors& tensors : packed.layers) {
    const Spec& spec = tensors.layer.spec;
    metadata[tensors.weights.info.name] = spec.canonical_json();
    version = std::max(version, layout_version(spec.weight()));
  }
  const bool bytes = std::any_of(packed.layers.begin(), packed.layers.end(),
                                 [](const PackedLayerTensors& tensors) {
                                   return tensors.layer.spec.gemm().has_byte_activations();
                                 });
  if (bytes) metadata["heddle.activations"] = "8";
  metadata["heddle.layout"] = std::to_string(version);
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
  plan.set_metadata(metadata_of(packed, options.pack.parallel));
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
