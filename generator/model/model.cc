#include "heddle/model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "generator/model/config_documents.h"
#include "generator/model/dtype.h"
#include "generator/model/families.h"
#include "generator/model/group_size.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kLargestSide = 1 << 20;  // as in the spec's table

// A model's kernels as they are found. Several layers that need the same kernel count on one.
class ModelBuilder {
 public:
  ModelBuilder(DType dtype, const Quantization& quantization, Model* model)
      : dtype_(dtype), quantization_(quantization), model_(*model) {}

  // The modules of each layer that engines take together, if they are quantised alike; else each of
  // them on its own, as heddle repack packs them. `layers` are the paths of the layers.
  void add(const std::vector<std::string>& layers, const Linear& linear);
  // Notes of what is not quantised and what was assumed.
  void finish();

 private:
  void add_parts(const Linear& linear, const std::vector<const Scheme*>& schemes, int layers);
  void add_kernel(const Linear& linear, const Scheme& scheme, int layers);
  void add_unserved(const Linear& linear, std::string reason, int layers);
  void assume(const Scheme& scheme, bool bias);

  DType dtype_;
  const Quantization& quantization_;
  Model& model_;
  std::map<std::string, int> left_out_;  // module to the number of layers that leave it in 16 bits
  bool assumed_scales_ = false;
  bool assumed_fp32_ = false;
  bool assumed_order_ = false;
  bool assumed_zeros_ = false;
  bool assumed_bias_ = false;
};

Linear alone(const Linear& linear, const Linear::Part& part) {
  return {leaf_of(part.path), {part}, linear.k, linear.bias};
}

void ModelBuilder::add(const std::vector<std::string>& layers, const Linear& linear) {
  using Schemes = std::vector<const Scheme*>;  // of the parts
  std::vector<std::pair<Schemes, int>> different;
  for (const std::string& layer : layers) {
    Schemes schemes;
    for (const Linear::Part& part : linear.parts) {
      schemes.push_back(quantization_.scheme_of(layer + part.path));
    }
    const auto found = std::find_if(different.begin(), different.end(),
                                    [&](const auto& known) { return known.first == schemes; });
    if (found != different.end()) {
      ++found->second;
    } else {
      different.emplace_back(std::move(schemes), 1);
    }
  }
  for (const auto& [schemes, count] : different) add_parts(linear, schemes, count);
}

void ModelBuilder::add_parts(const Linear& linear, const std::vector<const Scheme*>& schemes,
                             int layers) {
  const bool alike =
      std::adjacent_find(schemes.begin(), schemes.end(), std::not_equal_to<>()) == schemes.end();
  if (alike && schemes.front() != nullptr) return add_kernel(linear, *schemes.front(), layers);
  for (std::size_t i = 0; i < schemes.size(); ++i) {
    const Linear part = alone(linear, linear.parts[i]);
    if (schemes[i] != nullptr) {
      add_kernel(part, *schemes[i], layers);
    } else {
      left_out_[part.name] += layers;
    }
  }
}

// What a spec says of weights of this scheme, whose zero points and scales are as quantisers write
// them by default.
WeightSpec weight_of(const Scheme& scheme, std::int64_t k, bool fused, DType dtype) {
  WeightSpec weight;
  weight.type = scheme.type;
  weight.bits = scheme.bits;
  weight.group_size = kernel_group_size(k, scheme.group_size.value_or(kPerChannel));
  const bool integers = scheme.type == WeightType::kUint || scheme.type == WeightType::kInt;
  if (integers && !scheme.symmetric) {
    weight.type = WeightType::kUint;
    weight.zero_point = ZeroPoint::kInt;
  } else if (scheme.storage == Storage::kQuarkPacked) {
    weight.type = WeightType::kUint;  // signed codes are stored with an offset
  }
  weight.tensor_scale = scheme.tensor_scale;
  weight.scale_dtype = scheme.scale_dtype.value_or(dtype);
  // Parts that the checkpoint keeps apart have a scale each where there is one for a whole tensor.
  // So have zero points.
  const bool by_row = fused || weight.zero_point == ZeroPoint::kInt;
  if (weight.group_size == kPerTensor && by_row) weight.group_size = kPerChannel;
  return weight;
}

void ModelBuilder::add_kernel(const Linear& linear, const Scheme& scheme, int layers) {
  if (!scheme.unread.empty()) return add_unserved(linear, scheme.unread, layers);
  if (!scheme.group_size) {
    return add_unserved(
        linear, "the config has no group_size; heddle build FOLDER learns it from the tensors",
        layers);
  }
  GemmSpec gemm;
  gemm.shape.n = linear.n();
  gemm.shape.k = linear.k;
  gemm.weight = weight_of(scheme, linear.k, linear.parts.size() > 1, dtype_);
  if (gemm.weight.group_size > 0 && gemm.weight.group_size % kGroupStep != 0) {
    return add_unserved(linear,
                        "groups of " + std::to_string(gemm.weight.group_size) +
                            " columns: kernels take groups whose size is a multiple of 16",
                        layers);
  }
  gemm.activation = dtype_;
  gemm.act_order = scheme.act_order;
  gemm.pre_scale = scheme.pre_scale;
  gemm.epilogue.bias = linear.bias;
  assume(scheme, linear.bias);
  Spec spec = Spec::from_gemm(gemm, linear.name);
  for (ModelKernel& kernel : model_.kernels) {
    if (kernel.spec.name() != spec.name() ||
        kernel.spec.canonical_json() != spec.canonical_json()) {
      continue;
    }
    kernel.layers += layers;
    return;
  }
  model_.kernels.push_back({std::move(spec), layers, linear.covers()});
}

void ModelBuilder::add_unserved(const Linear& linear, std::string reason, int layers) {
  for (ModelUnserved& known : model_.unserved) {
    if (known.name != linear.name || known.reason != reason) continue;
    known.layers += layers;
    return;
  }
  model_.unserved.push_back({linear.name, std::move(reason), layers});
}

void ModelBuilder::assume(const Scheme& scheme, bool bias) {
  const bool fp8 = scheme.type == WeightType::kE4m3 || scheme.type == WeightType::kE5m2;
  assumed_scales_ = assumed_scales_ || !scheme.scale_dtype;
  assumed_fp32_ = assumed_fp32_ || (fp8 && scheme.scale_dtype == DType::kFp32);
  assumed_order_ = assumed_order_ || scheme.act_order;
  assumed_zeros_ = assumed_zeros_ || !scheme.symmetric;
  assumed_bias_ = assumed_bias_ || bias;
}

void ModelBuilder::finish() {
  std::string names;
  for (const auto& [name, layers] : left_out_) {
    if (name == "lm_head") continue;
    names += (names.empty() ? "" : ", ") + name;
    if (layers > 1) names += " (" + std::to_string(layers) + " layers)";
  }
  if (!names.empty()) {
    model_.notes.push_back(names + ": not quantised in the checkpoint, no kernel is made");
  }
  if (assumed_scales_) {
    model_.assumptions.push_back("scales have the type of the activations, " +
                                 std::string(to_string(dtype_)));
  }
  if (assumed_fp32_) {
    model_.assumptions.emplace_back(
        "scales of FP8 are FP32, one for a whole tensor where the config says nothing else");
  }
  if (assumed_order_) {
    model_.assumptions.emplace_back(
        "columns are out of order (act-order): launches take the order of the columns of X "
        "(heddle_perm in a repacked checkpoint); a layer that is split along K over several GPUs "
        "needs "
        "columns of X from all");
  }
  if (assumed_zeros_) model_.assumptions.emplace_back("zero points differ from 2^(bits-1)");
  if (assumed_bias_) model_.assumptions.emplace_back("biases of the model type are not all zero");
}

void check_sides(const std::vector<Linear>& linears, Findings& findings) {
  for (const Linear& linear : linears) {
    if (linear.n() <= kLargestSide && linear.k <= kLargestSide) continue;
    findings.add("out_of_range", {"", linear.name + " is too large",
                                  std::to_string(linear.n()) + " x " + std::to_string(linear.k),
                                  "at most " + std::to_string(kLargestSide), ""});
  }
}

void add_lm_head(const ConfigReader& config, const Quantization& quantization,
                 ModelBuilder* builder, Model* model) {
  const std::string name = "lm_head";
  if (quantization.scheme_of(name) == nullptr) {
    model->notes.emplace_back("lm_head is not quantised: it needs no kernel of Heddle");
    return;
  }
  if (config.bool_or("tie_word_embeddings", false)) {
    model->notes.emplace_back(
        "lm_head shares the weights of the embeddings (tie_word_embeddings), which are not "
        "quantised: "
        "it needs no kernel of Heddle");
    return;
  }
  const std::string_view hidden = config.spelling({"hidden_size", "n_embed"});
  const Linear head = {name,
                       {{name, config.required_size("vocab_size", kLargestSide)}},
                       config.required_size(hidden, kLargestSide),
                       false};
  config.findings().throw_if_any();
  builder->add({""}, head);
}

}  // namespace

Model model_from_config(const ModelConfigTexts& texts) {
  Findings findings("model");
  const ConfigDocuments documents(texts, findings);
  const ConfigReader config = documents.language();
  Model model;
  model.model_type = documents.model_type();
  if (model.model_type.empty()) config.required_string("model_type");
  findings.throw_if_any();
  const Quantization quantization = documents.quantization();
  if (quantization.method().empty()) {
    findings.throw_if_any();
    throw Error(
        ErrorCategory::kUnsupported, "model.not_quantized",
        std::vector<Problem>{
            {"/quantization_config", "the model is not quantised: the config has no such field", "",
             "a config with a quantization_config, or with hf_quant_config.json or "
             "quantize_config.json beside it",
             ""}});
  }
  const bool own_dtype = config.has(config.spelling({"torch_dtype", "dtype"}));
  const DType dtype = read_dtype(own_dtype ? config : documents.config());
  const Linears linears = linears_of(model.model_type, config);
  findings.throw_if_any();
  check_sides(linears.linears, findings);
  findings.throw_if_any();
  model.quant_method = quantization.method();
  model.notes = quantization.notes();
  ModelBuilder builder(dtype, quantization, &model);
  std::vector<std::string> layers;
  for (std::int64_t i = 0; i < linears.layers; ++i) {
    layers.push_back(linears.layers_path + "." + std::to_string(i) + ".");
  }
  for (const Linear& linear : linears.linears) builder.add(layers, linear);
  add_lm_head(config, quantization, &builder, &model);
  builder.finish();
  return model;
}

Model model_from_config(std::string_view json) {
  ModelConfigTexts texts;
  texts.config = json;
  return model_from_config(texts);
}

}  // namespace heddle
