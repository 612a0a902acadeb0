// ModelBuilder: what it says of weights, of what was left out and of what was assumed.
#include "generator/model/group_size.h"
#include "generator/model/model_builder.h"

namespace heddle {

const char* const kPlainWeights = "16 bits";
const char* const kNoPlainKernel =
    "its weights are not quantised; --dense asks for kernels for such layers";

namespace {

std::string names_with_layers(const std::map<std::string, int>& modules) {
  std::string names;
  for (const auto& [name, layers] : modules) {
    names += (names.empty() ? "" : ", ") + name;
    if (layers > 1) names += " (" + std::to_string(layers) + " layers)";
  }
  return names;
}

}  // namespace

std::string weights_text(const Scheme& scheme) {
  if (!scheme.unread.empty()) return "quantised in a way that is not read";
  std::string text(to_string(scheme.type));
  if (scheme.type == WeightType::kUint || scheme.type == WeightType::kInt) {
    text += std::to_string(scheme.bits);
  }
  if (!scheme.group_size) return text;
  if (scheme.block_rows > 1) {
    return text + ", blocks of " + std::to_string(scheme.block_rows) + " x " +
           std::to_string(*scheme.group_size);
  }
  if (*scheme.group_size == kPerTensor) return text + ", one scale";
  if (*scheme.group_size == kPerChannel) return text + ", a scale for each row";
  return text + ", groups of " + std::to_string(*scheme.group_size);
}

std::string weights_text(const WeightSpec& weight) {
  if (!weight.has_scales()) return kPlainWeights;
  Scheme scheme;
  scheme.type = weight.type;
  scheme.bits = weight.bits;
  scheme.group_size = weight.group_size;
  scheme.block_rows = weight.group_rows;
  return weights_text(scheme);
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
  merge_layers();
  if (gated_ && !model_.kernels.empty()) ungated_.add_notes(&model_.notes);
  if (!left_out_.empty() && !quantization_.method().empty()) {
    model_.notes.push_back(names_with_layers(left_out_) +
                           ": not quantised in the checkpoint, no kernel is made");
  }
  if (!small_.empty()) {
    model_.assumptions.push_back(
        names_with_layers(small_) +
        ": left in 16 bits, as quantisers leave routers and gates, although "
        "the config does not say so");
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

}  // namespace heddle
