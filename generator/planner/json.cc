#include <nlohmann/json.hpp>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "heddle/kv_cache.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

std::string_view opcode_name(DecodeOpcode opcode) {
  switch (opcode) {
    case DecodeOpcode::kShr:
      return "shr";
    case DecodeOpcode::kShl:
      return "shl";
    case DecodeOpcode::kLop3:
      return "lop3";
    case DecodeOpcode::kPrmt:
    case DecodeOpcode::kLookup:
    case DecodeOpcode::kSelect:
      return "prmt";
    case DecodeOpcode::kSub:
      return "sub";
    case DecodeOpcode::kFma:
      return "fma";
    case DecodeOpcode::kMulAdd:
      return "mul_add";
    case DecodeOpcode::kMul:
      return "mul";
    case DecodeOpcode::kScale:
      return "scale";
  }
  return "";
}

// The members of an operation that its opcode uses.
void add_operands(ordered_json& j, const DecodeOp& op) {
  switch (op.opcode) {
    case DecodeOpcode::kShr:
    case DecodeOpcode::kShl:
      j["bits"] = op.imm;
      return;
    case DecodeOpcode::kLop3:
      j["mask"] = op.imm;
      if (op.last == LastOperand::kGroup) {
        j["group"] = op.group;
      } else if (op.b >= 0) {
        j["b"] = op.b;
      } else {
        j["magic"] = op.imm2;
      }
      j["lut"] = op.lut;
      return;
    case DecodeOpcode::kPrmt:
      if (op.b >= 0) {
        j["b"] = op.b;
      } else {
        j["bytes"] = op.imm2;
      }
      j["selector"] = op.imm;
      return;
    case DecodeOpcode::kLookup:
      j["table"] = {op.imm, op.imm2};
      return;
    case DecodeOpcode::kSelect:
      j["b"] = op.b;
      j["c"] = op.c;
      return;
    case DecodeOpcode::kMul:
      j["factor"] = op.imm;
      return;
    case DecodeOpcode::kFma:
      j["factor"] = op.imm;
      break;
    case DecodeOpcode::kMulAdd:
      j["factor"] = op.imm;
      j["b"] = op.b;
      return;
    case DecodeOpcode::kScale:
      j["factor_of_group"] = op.factor;
      j["row"] = op.row;
      break;
    case DecodeOpcode::kSub:
      break;
  }
  if (op.last == LastOperand::kGroup) j["group"] = op.group;
  if (op.last == LastOperand::kImmediate) j["subtrahend"] = op.imm2;
  if (op.last == LastOperand::kRegister) j["b"] = op.b;
}

ordered_json ops_json(const std::vector<DecodeOp>& ops) {
  ordered_json list = ordered_json::array();
  for (const DecodeOp& op : ops) {
    ordered_json j{{"op", opcode_name(op.opcode)}, {"dst", op.dst}, {"a", op.a}};
    add_operands(j, op);
    j["why"] = op.why;
    list.push_back(std::move(j));
  }
  return list;
}

ordered_json decode_json(const DecodePlan& plan) {
  return {{"bits", plan.request.bits},
          {"type", to_string(plan.request.type)},
          {"dtype", to_string(plan.request.dtype)},
          {"zero_point", to_string(plan.request.zero_point)},
          {"field_of", plan.field_of},
          {"ops", ops_json(plan.ops)},
          {"outputs", plan.outputs},
          {"group_ops", ops_json(plan.group_ops)},
          {"group_outputs", plan.group_outputs},
          {"instructions_per_weight", plan.instructions_per_weight},
          {"result_exponent", plan.result_exponent}};
}

ordered_json layout_json(const WeightSpec& weight, const WeightLayout& l) {
  return {{"version", layout_version(weight)},
          {"row_block", WeightLayout::kRowBlock},
          {"chunk_k", WeightLayout::kChunkK},
          {"row_blocks", l.row_blocks},
          {"chunks_per_row_block", l.chunks_per_row_block},
          {"chunk_bytes", l.chunk_bytes},
          {"scale_offset", l.scale_offset},
          {"zero_offset", l.zero_offset},
          {"channel_offset", l.channel_offset},
          {"total_bytes", l.total_bytes}};
}

ordered_json cache_tensor_json(const KvTensorLayout& layout) {
  return {{"row_bytes", layout.row_bytes},
          {"scale_heads", layout.scale_heads},
          {"scale_row_bytes", layout.scale_row_bytes},
          {"scales_of_row", layout.scales_of_row},
          {"scale_tokens", layout.scale_tokens},
          {"residual_bytes_of_slot", layout.residual_bytes(1)}};
}

ordered_json cache_json(const Spec& spec) {
  const KvShape shape = spec.kv_shape();
  const KvCacheLayout layout = kv_cache_layout(spec.kv(), shape.kv_heads, shape.head_dim);
  const KvTokenBytes bytes = kv_token_bytes(layout);
  return {{"k", cache_tensor_json(layout.k)},
          {"v", cache_tensor_json(layout.v)},
          {"code_bytes_of_token", bytes.codes},
          {"scale_bytes_of_token", bytes.scales}};
}

ordered_json launch_json(const KernelLaunch& launch) {
  return {{"grid", {launch.grid_x, launch.grid_y, launch.grid_z}},
          {"cluster", launch.cluster},
          {"schedule", launch.schedule}};
}

ordered_json kernel_json(const Plan& plan, std::size_t index) {
  const PlannedKernel& kernel = plan.kernel(index);
  ordered_json j{{"name", kernel.name}};
  const bool by_m = plan.spec.has_m();
  if (by_m) j["m"] = {kernel.size_min, kernel.size_max};
  if (plan.spec.op() == Op::kDecodeAttention) {
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
  j["launch"] = launch_json(plan.launch(index, {kernel.size_max}));
  if (plan.spec.op() == Op::kGemm && index < plan.kernels.size()) {
    j["workspace_bytes"] = plan.workspace_bytes(kernel.size_max);
  }
  return j;
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  ordered_json j{{"spec", ordered_json::parse(plan.spec.canonical_json())},
                 {"target",
                  {{"name", plan.target.name},
                   {"arch", compiler_arch(plan.target)},
                   {"sm_count", plan.target.sm_count},
                   {"shared_per_block", plan.target.shared_per_block}}}};
  if (plan.spec.has_weight()) {
    j["layout"] = layout_json(plan.spec.weight(), plan.layout);
    j["decode"] = decode_json(plan.decode);
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
