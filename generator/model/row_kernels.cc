#include "generator/model/row_kernels.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr double kUsualEpsilon = 1e-6;

class RowBuilder {
 public:
  RowBuilder(const Decoder& decoder, DType dtype, Model* model)
      : decoder_(decoder), dtype_(dtype), model_(*model) {}

  void add_norms();
  void add_activations();

 private:
  void add(const RowTransformSpec& spec, const char* name, std::string covers, int layers);
  void add_norm(const char* name, bool residual, int layers);
  RowTransformSpec rows(std::int64_t columns) const;
  bool has_lone_gate(const ModelLayer& up) const;

  const Decoder& decoder_;
  DType dtype_;
  Model& model_;
  double epsilon_ = kUsualEpsilon;
};

RowTransformSpec RowBuilder::rows(std::int64_t columns) const {
  RowTransformSpec spec;
  spec.shape.columns = columns;
  spec.input = dtype_;
  spec.output.dtype = row_dtype(dtype_);
  return spec;
}

// Layers that need the same count on one kernel. A width or an epsilon that no spec takes is told.
void RowBuilder::add(const RowTransformSpec& rows, const char* name, std::string covers,
                     int layers) {
  try {
    Spec spec = Spec::from_row_transform(rows, name);
    for (ModelKernel& known : model_.rows) {
      if (known.spec.name() != spec.name() ||
          known.spec.canonical_json() != spec.canonical_json()) {
        continue;
      }
      known.layers += layers;
      return;
    }
    model_.rows.push_back({std::move(spec), layers, std::move(covers)});
  } catch (const Error& error) {
    const Problem& problem = error.problems().front();
    model_.notes.push_back(std::string(name) + ": no kernel is made: " + problem.pointer + ": " +
                           problem.message);
  }
}

void RowBuilder::add_norm(const char* name, bool residual, int layers) {
  RowTransformSpec spec = rows(decoder_.hidden);
  spec.residual = residual;
  spec.norm.type = NormType::kRms;
  spec.norm.epsilon = static_cast<float>(epsilon_);
  spec.norm.weight_offset = decoder_.norm == NormKind::kRmsPlusOne ? 1 : 0;
  add(spec, name, residual ? "residual + norm" : "norm", layers);
}

void RowBuilder::add_norms() {
  if (decoder_.norm == NormKind::kNone) return;
  if (decoder_.norm != NormKind::kRms && decoder_.norm != NormKind::kRmsPlusOne) {
    model_.notes.emplace_back(
        "no kernels are made for norms: the config does not say whether their LayerNorm has a "
        "bias; a row_transform spec does");
    return;
  }
  if (decoder_.norm_epsilon != 0) {
    epsilon_ = decoder_.norm_epsilon;
  } else {
    model_.assumptions.emplace_back("the epsilon of norms is 1e-06, since the config has none");
  }
  const bool plain = decoder_.plain_sum;
  int halves = 0;
  for (const DecodedBlock& block : decoder_.blocks) {
    halves += block.halves * static_cast<int>(block.facts.layers.size());
  }
  switch (decoder_.norm_place) {
    case NormPlace::kBefore:
      // The first norm has nothing to add yet. Each later one, the final one included, adds the
      // output of the half before it, unless the model's sum is another one.
      add_norm("norm", false, plain ? 1 : halves + 1);
      if (plain) add_norm("add_norm", true, halves);
      break;
    case NormPlace::kAround:
      add_norm("norm", false, (plain ? 1 : 2) * halves + 1);
      if (plain) add_norm("add_norm", true, halves);
      break;
    case NormPlace::kAfter:
      // The sum follows the norm there.
      add_norm("norm", false, halves + 1);
      break;
    case NormPlace::kParallel:
      add_norm("norm", false, static_cast<int>(decoder_.layers) + 1);
      break;
  }
}

// Whether a decoder layer that has this matrix of ups has its gates in another one.
bool RowBuilder::has_lone_gate(const ModelLayer& up) const {
  return std::any_of(model_.layers.begin(), model_.layers.end(), [&](const ModelLayer& other) {
    if (other.kind != ModelLayer::Kind::kLinear || other.parts.size() != 1) return false;
    if (decoder_.role_of(other.parts.front().path) != Role::kGate) return false;
    return std::find_first_of(other.layers.begin(), other.layers.end(), up.layers.begin(),
                              up.layers.end()) != other.layers.end();
  });
}

void RowBuilder::add_activations() {
  const std::optional<Activation> activation = gate_activation(decoder_.gate.activation);
  if (!decoder_.gate.is_plain) return;
  for (const ModelLayer& layer : model_.layers) {
    if (layer.kind != ModelLayer::Kind::kLinear || layer.layers.empty()) continue;
    if (layer.kernel >= 0) {
      const Spec& spec = model_.kernels[static_cast<std::size_t>(layer.kernel)].spec;
      if (spec.gemm().epilogue.activation != Activation::kNone) continue;
    }
    std::vector<Role> roles;
    for (const ModelPart& part : layer.parts) roles.push_back(decoder_.role_of(part.path));
    const bool gated = are_gate_and_up(roles);
    const bool lone_up = roles.size() == 1 && roles[0] == Role::kUp && !has_lone_gate(layer);
    if (!gated && !lone_up) continue;
    if (!activation) {
      model_.notes.push_back("activation: no kernel is made: none computes \"" +
                             excerpt(decoder_.gate.activation) + '"');
      return;
    }
    RowTransformSpec spec = rows(gated ? layer.n / 2 : layer.n);
    if (gated) spec.gate.order = GateOrder::kHalves;
    spec.gate.activation = *activation;
    add(spec, "activation", decoder_.gate.activation + (gated ? "(gate) * up" : ""),
        static_cast<int>(layer.layers.size()));
  }
}

}  // namespace

void add_row_kernels(const Decoder& decoder, DType dtype, Model* model) {
  RowBuilder builder(decoder, dtype, model);
  builder.add_norms();
  builder.add_activations();
}

}  // namespace heddle
