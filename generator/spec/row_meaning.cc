// The rules between the fields of row_transform.
#include <string>

#include "generator/spec/meaning.h"

namespace heddle {
namespace {

using Problems = std::vector<Problem>;

constexpr int kStepColumns = 8;  // 16 bytes of 16-bit values

std::string quoted(std::string_view word) { return '"' + std::string(word) + '"'; }

void check_shape(const RowShape& shape, Problems& problems) {
  if (shape.columns % kStepColumns != 0) {
    problems.push_back({"/shape/columns", "rows are read and written 16 bytes at a time",
                        std::to_string(shape.columns), "multiples of 8", ""});
  }
  if (shape.m_min > shape.m_max) {
    problems.push_back(
        {"/shape/m", "the smallest M is larger than the largest",
         '[' + std::to_string(shape.m_min) + ", " + std::to_string(shape.m_max) + ']',
         "[smallest, largest]", ""});
  }
}

// What has no effect without a norm.
void check_no_norm(const RowTransformSpec& spec, Problems& problems) {
  const auto refuse = [&](bool given, const char* pointer, const char* value, const char* allowed) {
    if (given) problems.push_back({pointer, "the spec has no norm", value, allowed, ""});
  };
  refuse(spec.residual, "/residual", "true", "false, or a norm");
  refuse(spec.norm.epsilon.has_value(), "/norm/epsilon", "a number", "none");
  refuse(spec.norm.weight_offset != 0, "/norm/weight_offset", "1", "0");
  refuse(spec.norm.bias, "/norm/bias", "true", "false");
}

void check_norm(const NormSpec& norm, Problems& problems) {
  if (!norm.epsilon) {
    problems.push_back({"/norm/epsilon", "a norm needs an epsilon, and models differ in it", "",
                        "numbers from 1e-12 to 1", ""});
  }
  if (norm.bias && norm.type != NormType::kLayer) {
    problems.push_back({"/norm/bias", "only the norm \"layer\" has a bias", "true", "false", ""});
  }
}

void check_work(const RowTransformSpec& spec, Problems& problems) {
  const bool norm = spec.norm.type != NormType::kNone;
  const bool gate =
      spec.gate.order != GateOrder::kNone || spec.gate.activation != Activation::kNone;
  if (norm && gate) {
    problems.push_back({"/gate", "no kernel normalises and gates", "", "a norm or a gate", ""});
  }
  if (spec.gate.activation == Activation::kClampedSwiglu) {
    problems.push_back({"/gate/activation", "only a gemm's gated epilogue has this function",
                        "\"clamped_swiglu\"", "any other activation", ""});
  }
  if (!norm && !gate) {
    problems.push_back(
        {"", "the spec asks for nothing", "", "a norm, a gate or an activation", ""});
  }
  if (norm) {
    check_norm(spec.norm, problems);
  } else {
    check_no_norm(spec, problems);
  }
}

}  // namespace

std::vector<Problem> check_meaning(const RowTransformSpec& spec) {
  Problems problems;
  check_shape(spec.shape, problems);
  check_work(spec, problems);
  if (spec.output != spec.input) {
    problems.push_back({"/output/dtype", "no kernel writes another type than it reads",
                        quoted(to_string(spec.output)), quoted(to_string(spec.input)), ""});
  }
  return problems;
}

}  // namespace heddle
