#include "generator/decode/json.h"

#include <nlohmann/json.hpp>

#include "generator/families/family.h"
#include "generator/operations/operation.h"
#include "generator/target/target_json.h"
#include "heddle/inspect/plan.h"
#include "heddle/kv_cache.h"
#include "heddle/tuned.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

ordered_json layout_json(const WeightLayout& l) {
  return {{"version", kLayoutVersion},
          {"row_block", WeightLayout::kRowBlock},
          {"chunk_k", WeightLayout::kChunkK},
          {"row_blocks", l.row_blocks},
          {"chunks_per_row_block", l.chunks_per_row_block},
          {"meta_group", l.meta_group},
          {"groups_per_chunk", l.groups_per_chunk},
          {"entry_offset", l.entry_offset},
          {"chunk_bytes", l.chunk_bytes},
          {"scale_offset", l.scale_offset},
          {"scale_bytes", l.scale_bytes},
          {"zero_offset", l.zero_offset},
          {"zero_bytes", l.zero_bytes},
          {"channel_offset", l.channel_offset},
          {"channel_bytes", l.channel_bytes},
          {"channel_zero_offset", l.channel_zero_offset},
          {"channel_sum_offset", l.channel_sum_offset},
          {"block_bytes", l.block_bytes},
          {"tensor_offset", l.tensor_offset},
          {"total_bytes", l.total_bytes}};
}

ordered_json cache_tensor_json(const KvTensor& tensor, const KvTensorLayout& layout,
                               const KvShape& shape) {
  const std::int64_t tokens = kv_block_tokens(tensor);
  const std::int64_t rows = tokens * shape.kv_heads;
  return {{"bits", kv_bits(tensor.dtype)},
          {"order", to_string(layout.order)},
          {"row_bytes", layout.row_bytes},
          {"scale_heads", layout.scale_heads},
          {"scale_row_bytes", layout.scale_row_bytes},
          {"scales_of_row", layout.scales_of_row},
          {"scale_tokens", layout.scale_tokens},
          {"residual_row_bytes", layout.residual_row_bytes},
          {"residual_bytes_of_slot", layout.residual_bytes(1)},
          {"block",
           {{"tokens", tokens},
            {"values", rows * shape.head_dim},
            {"code_bytes", rows * layout.row_bytes},
            {"scale_bytes", std::int64_t{layout.scale_heads} * layout.scale_row_bytes}}}};
}

ordered_json cache_json(const Spec& spec) {
  const KvShape shape = spec.kv_shape();
  const KvSpec& kv = spec.kv();
  const KvCacheLayout layout = kv_cache_layout(kv, shape.kv_heads, shape.head_dim);
  const KvTokenBytes bytes = kv_token_bytes(layout);
  return {{"k", cache_tensor_json(kv.k, layout.k, shape)},
          {"v", cache_tensor_json(kv.v, layout.v, shape)},
          {"code_bytes_of_token", bytes.codes},
          {"scale_bytes_of_token", bytes.scales}};
}

ordered_json target_json(const Target& target) {
  ordered_json json{{"name", target.name},
                    {"arch", compiler_arch(target)},
                    {"tuned_gpu", tuned_gpu(target)},
                    {"major", target.major},
                    {"minor", target.minor}};
  add_target_facts(target, &json);
  json["tensor_tflops"] = target.tensor_tflops;
  json["launch_us"] = target.launch_us;
  return json;
}

ordered_json launch_json(const KernelLaunch& launch) {
  return {{"grid", {launch.grid_x, launch.grid_y, launch.grid_z}},
          {"cluster", launch.cluster},
          {"schedule", launch.schedule}};
}

// Each launch of a kernel that has several.
ordered_json phases_json(const Plan& plan, std::size_t index, LaunchSize size) {
  auto phases = ordered_json::array();
  for (size.phase = 0; size.phase < plan.kernel(index).phases; ++size.phase) {
    const KernelLaunch launch = plan.launch(index, size);
    phases.push_back(launch_json(launch));
    phases.back()["shared_bytes"] = launch.shared_bytes;
  }
  return phases;
}

ordered_json kernel_json(const Plan& plan, std::size_t index) {
  const PlannedKernel& kernel = plan.kernel(index);
  ordered_json j{{"name", kernel.name}};
  const bool by_m = plan.spec.has_m();
  if (by_m) j["m"] = {kernel.size_min, kernel.size_max};
  if (operation_of(plan.spec).size_kind() == SizeKind::kSequenceTokens) {
    j["sequence_tokens"] = {kernel.size_min, kernel.size_max};
  }
  j["family"] = kernel.family->name();
  j["configuration"] = kernel.family->json(kernel);
  j["threads"] = kernel.threads;
  j["shared_bytes"] = kernel.shared_bytes;
  j["blocks_per_sm"] = kernel.blocks_per_sm;
  j["starts_early"] = kernel.starts_early;
  auto arguments = ordered_json::array();
  for (const KernelArgument argument : kernel.arguments) arguments.push_back(to_string(argument));
  j["arguments"] = std::move(arguments);
  if (kernel.box_tokens != 0) {
    j["box_tokens"] = kernel.box_tokens;
    j["fits_box"] = kernel.fits_box;
  }
  if (!by_m) return j;
  if (kernel.phases == 1) {
    j["launch"] = launch_json(plan.launch(index, {kernel.size_max}));
  } else {
    j["phases"] = phases_json(plan, index, {kernel.size_max});
  }
  if (index < plan.kernels.size()) {
    j["workspace_bytes"] = plan.workspace_bytes(kernel.size_max);
  }
  return j;
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  ordered_json j{{"spec", ordered_json::parse(plan.spec.canonical_json())},
                 {"target", target_json(plan.target)}};
  if (plan.spec.has_weight()) {
    j["layout"] = layout_json(plan.layout);
    if (plan.decode.elements() != 0) j["decode"] = decode_json(plan.decode);
    for (const DecodePlan& decode : decode_plans_of(plan)) {
      const char* name = decode.request.fold_scale ? "scaled_decode" : "folded_decode";
      if (decode.result_exponent != 0) j[name] = decode_json(decode);
    }
  } else if (plan.spec.has_cache()) {
    j["cache"] = cache_json(plan.spec);
  }
  j["kernels"] = ordered_json::array();
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) {
    j["kernels"].push_back(kernel_json(plan, i));
  }
  j["reasons"] = plan.reasons;
  return j.dump(2);
}

}  // namespace heddle
