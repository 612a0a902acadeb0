#include "generator/decode/json.h"

#include <nlohmann/json.hpp>

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
    case DecodeOpcode::kIntSub:
      return "int_sub";
    case DecodeOpcode::kIntMulAdd:
      return "int_mul_add";
    case DecodeOpcode::kIntScale:
      return "int_scale";
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
    case DecodeOpcode::kIntMulAdd:
      if (op.c >= 0) {
        j["c"] = op.c;
      } else {
        j["factor"] = op.imm;
      }
      if (op.b >= 0) {
        j["b"] = op.b;
      } else if (op.imm2 != 0) {
        j["addend"] = op.imm2;
      }
      return;
    case DecodeOpcode::kIntScale:
      j["factor_of_group"] = op.factor;
      break;
    case DecodeOpcode::kSub:
    case DecodeOpcode::kIntSub:
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

// For each element, from its lowest bit on: [word, bit].
ordered_json places_json(const DecodePlan& plan) {
  ordered_json elements = ordered_json::array();
  for (const std::vector<BitPlace>& places : plan.bit_of) {
    ordered_json element = ordered_json::array();
    for (const BitPlace& place : places) element.push_back({place.word, place.bit});
    elements.push_back(std::move(element));
  }
  return elements;
}

}  // namespace

ordered_json request_json(const DecodeRequest& request) {
  ordered_json j{{"kind", to_string(request.kind)},   {"bits", request.bits},
                 {"type", to_string(request.type)},   {"zero_point", to_string(request.zero_point)},
                 {"dtype", to_string(request.dtype)}, {"order", to_string(request.order)},
                 {"fold_power", request.fold_power},  {"fold_scale", request.fold_scale}};
  if (request.kind == CodeKind::kFloat) {
    j["exponent_bits"] = request.exponent_bits;
    j["mantissa_bits"] = request.mantissa_bits;
  }
  if (request.kind == CodeKind::kTable) j["table"] = request.table;
  if (request.order == ElementOrder::kPermutation) j["permutation"] = request.permutation;
  if (request.zero_point == ZeroPoint::kInt) j["zero_order"] = to_string(request.zero_order);
  return j;
}

ordered_json decode_json(const DecodePlan& plan) {
  return {{"request", request_json(plan.request)},
          {"elements", plan.elements()},
          {"words", plan.words},
          {"group_words", plan.group_words},
          {"bits", plan.request.bits},
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

std::string decode_plan_to_json(const DecodePlan& plan) {
  ordered_json j = decode_json(plan);
  j["bit_of"] = places_json(plan);
  return j.dump(2);
}

std::string_view to_string(CodeKind kind) noexcept {
  switch (kind) {
    case CodeKind::kInteger:
      return "integer";
    case CodeKind::kFloat:
      return "float";
    case CodeKind::kTable:
      return "table";
  }
  return "";
}

std::string_view to_string(ElementOrder order) noexcept {
  switch (order) {
    case ElementOrder::kFragment:
      return "fragment";
    case ElementOrder::kLinear:
      return "linear";
    case ElementOrder::kAwq:
      return "awq";
    case ElementOrder::kEvenOdd:
      return "even_odd";
    case ElementOrder::kTrtllm:
      return "trtllm";
    case ElementOrder::kPermutation:
      return "permutation";
    case ElementOrder::kByteFragment:
      return "byte_fragment";
  }
  return "";
}

std::string_view to_string(ZeroOrder order) noexcept {
  switch (order) {
    case ZeroOrder::kRows:
      return "rows";
    case ZeroOrder::kElements:
      return "elements";
  }
  return "";
}

}  // namespace heddle
