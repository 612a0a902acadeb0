#include "heddle/model.h"

#include <utility>

#include "generator/model/config_reader.h"
#include "generator/model/dtype.h"
#include "generator/model/families.h"
#include "generator/model/quantization.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr DocumentLimits kLimits{.bytes = std::size_t{4} << 20, .depth = 64};
constexpr std::int64_t kLargestSide = 1 << 20;  // as in the spec's table

[[noreturn]] void refuse(std::string code, Problem problem) {
  throw Error(ErrorCategory::kUnsupported, std::move(code),
              std::vector<Problem>{std::move(problem)});
}

void add_lm_head(const ConfigReader& config, bool quantised, std::vector<Linear>& linears,
                 std::vector<std::string>& notes) {
  if (!quantised) {
    notes.emplace_back("lm_head is not quantised: it needs no kernel of Heddle");
    return;
  }
  const std::string_view hidden = config.spelling({"hidden_size", "n_embed"});
  linears.push_back({"lm_head", "lm_head", config.required_size("vocab_size", kLargestSide),
                     config.required_size(hidden, kLargestSide), false, 1});
}

// Parts that the checkpoint keeps apart have a scale each where there is one for a whole tensor.
bool is_fused(const Linear& linear) { return linear.covers.find(" + ") != std::string::npos; }

ModelKernel make_kernel(const Linear& linear, const Quantization& quantization, DType dtype) {
  GemmSpec gemm;
  gemm.shape.n = linear.n;
  gemm.shape.k = linear.k;
  gemm.weight = quantization.weight;
  gemm.weight.scale_dtype = quantization.scale_dtype.value_or(dtype);
  if (gemm.weight.group_size == kPerTensor && is_fused(linear)) {
    gemm.weight.group_size = kPerChannel;
  }
  gemm.activation = dtype;
  gemm.act_order = quantization.act_order;
  gemm.pre_scale = quantization.pre_scale;
  gemm.epilogue.bias = linear.bias;
  return {Spec::from_gemm(gemm, linear.name), static_cast<int>(linear.layers), linear.covers};
}

void check_sides(const std::vector<Linear>& linears, Findings& findings) {
  for (const Linear& linear : linears) {
    if (linear.n <= kLargestSide && linear.k <= kLargestSide) continue;
    findings.add("out_of_range", {"", linear.name + " is too large",
                                  std::to_string(linear.n) + " x " + std::to_string(linear.k),
                                  "at most " + std::to_string(kLargestSide), ""});
  }
}

Model read_model(const Node& root, Findings& findings) {
  const ConfigReader config(root, "", findings);
  Model model;
  model.model_type = config.required_string("model_type");
  findings.throw_if_any();
  const Node* quantization_node = config.object("quantization_config");
  findings.throw_if_any();
  if (quantization_node == nullptr) {
    refuse("model.quantization",
           {"/quantization_config", "the model is not quantised: the config has no such field", "",
            "a config with a quantization_config", ""});
  }
  Quantization quantization =
      read_quantization(ConfigReader(*quantization_node, "/quantization_config", findings));
  const DType dtype = read_dtype(config);
  std::vector<Linear> linears = linears_of(model.model_type, config);
  model.quant_method = std::move(quantization.method);
  model.notes = std::move(quantization.notes);
  add_lm_head(config, quantization.lm_head, linears, model.notes);
  findings.throw_if_any();
  check_sides(linears, findings);
  findings.throw_if_any();
  for (const Linear& linear : linears) {
    model.kernels.push_back(make_kernel(linear, quantization, dtype));
  }
  return model;
}

}  // namespace

Model model_from_config(std::string_view json) {
  Findings findings("model");
  const std::optional<Node> root = read_document(json, kLimits, findings);
  if (root && root->kind != Node::Kind::kObject) {
    findings.add("wrong_type", {"", "the document must be an object", excerpt(*root), "", ""});
  }
  findings.throw_if_any();
  return read_model(*root, findings);
}

}  // namespace heddle
