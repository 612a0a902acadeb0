#include "generator/model/row_kernels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/model/row_forms.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

class RowBuilder {
 public:
  RowBuilder(const Decoder& decoder, DType dtype, Model* model)
      : decoder_(decoder), dtype_(dtype), model_(*model), forms_(decoder, dtype, *model) {}

  void add_norms();
  void add_activations();
  // For X that no norm and no activation makes in the form that its layer takes.
  void add_quantize();

 private:
  using Half = RowForms::Half;

  // A norm, and how often a step has it.
  struct Norm {
    bool residual = false;
    RowForm form;
    int layers = 0;
  };

  void add(const RowTransformSpec& spec, const char* name, std::string covers, int layers);
  void add_quantize(const RowForm& form, std::int64_t columns, int layers);
  void want_norm(bool residual, const WantedRows& wanted);
  void want_norms();
  void add_activation(const ModelLayer& layer, std::int64_t columns, bool gated,
                      Activation activation);
  RowTransformSpec rows(std::int64_t columns, const RowForm& form) const;
  bool has_lone_gate(const ModelLayer& up) const;

  const Decoder& decoder_;
  DType dtype_;
  Model& model_;
  RowForms forms_;
  bool has_norms_ = false;
  std::vector<Norm> norms_;
  // Layers, with a decoder layer that has them, whose X an activation makes as they take it.
  std::set<std::pair<const ModelLayer*, int>> activated_;
};

RowTransformSpec RowBuilder::rows(std::int64_t columns, const RowForm& form) const {
  RowTransformSpec spec;
  spec.shape.columns = columns;
  spec.input = dtype_;
  spec.output.dtype = form.dtype;
  spec.output.granularity = form.granularity;
  spec.output.symmetric = form.symmetric;
  spec.output.scale_dtype = form.scale_dtype;
  // As a GEMM reads them.
  const bool groups = form.granularity == RowGranularity::kGroup;
  if (groups) spec.output.scale_layout = ScaleLayout::kColumnMajor;
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

void RowBuilder::add_quantize(const RowForm& form, std::int64_t columns, int layers) {
  add(rows(columns, form), "quantize", "X to 8 bits", layers);
}

void RowBuilder::want_norm(bool residual, const WantedRows& wanted) {
  for (const RowForm& form : wanted.quantize) {
    add_quantize(form, decoder_.hidden, 1);
  }
  for (Norm& norm : norms_) {
    if (norm.residual != residual || norm.form != wanted.norm) continue;
    ++norm.layers;
    return;
  }
  norms_.push_back({residual, wanted.norm, 1});
}

void RowBuilder::add_norms() {
  if (decoder_.norm == NormKind::kNone) return;
  if (decoder_.norm != NormKind::kRms && decoder_.norm != NormKind::kRmsPlusOne) {
    model_.notes.emplace_back(
        "no kernels are made for norms: the config does not say whether their LayerNorm has a "
        "bias; a row_transform spec does");
    return;
  }
  has_norms_ = true;
  want_norms();
  std::stable_sort(norms_.begin(), norms_.end(),
                   [](const Norm& a, const Norm& b) { return a.residual < b.residual; });
  for (const Norm& norm : norms_) {
    RowTransformSpec spec = rows(decoder_.hidden, norm.form);
    spec.residual = norm.residual;
    spec.norm.type = NormType::kRms;
    spec.norm.epsilon = static_cast<float>(decoder_.norm_epsilon);
    spec.norm.weight_offset = decoder_.norm == NormKind::kRmsPlusOne ? 1 : 0;
    add(spec, norm.residual ? "add_norm" : "norm", norm.residual ? "residual + norm" : "norm",
        norm.layers);
  }
}

void RowBuilder::want_norms() {
  std::map<int, int> halves;  // of each decoder layer
  for (const DecodedBlock& block : decoder_.blocks) {
    for (const int index : block.facts.layers) halves[index] = block.halves;
  }
  const WantedRows plain = {forms_.plain(), {}};
  // The first norm has nothing to add yet. Each later one, the final one included, adds the output
  // of the half before it, unless the model's sum is another one.
  bool is_first = true;
  const auto want = [&](const WantedRows& wanted) {
    want_norm(decoder_.plain_sum && !std::exchange(is_first, false), wanted);
  };
  for (const auto& [index, count] : halves) {
    if (decoder_.norm_place == NormPlace::kParallel) {
      want_norm(false, forms_.ahead_of(index, Half::kBoth));
      continue;
    }
    for (int half = 0; half < count; ++half) {
      // Behind a half the sum follows the norm.
      if (decoder_.norm_place != NormPlace::kBefore) want_norm(false, plain);
      if (decoder_.norm_place == NormPlace::kAfter) continue;
      const Half which = count == 1 ? Half::kBoth : half == 0 ? Half::kMixer : Half::kFeedForward;
      want(forms_.ahead_of(index, which));
    }
  }
  const bool adds =
      decoder_.norm_place == NormPlace::kBefore || decoder_.norm_place == NormPlace::kAround;
  if (adds) {
    want(forms_.ahead_of_head());
  } else {
    want_norm(false, forms_.ahead_of_head());
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
    add_activation(layer, gated ? layer.n / 2 : layer.n, gated, *activation);
  }
}

// Decoder layers may differ in the form that what follows takes.
void RowBuilder::add_activation(const ModelLayer& layer, std::int64_t columns, bool gated,
                                Activation activation) {
  for (const int index : layer.layers) {
    const ModelLayer* const down = forms_.down_of(index, columns);
    RowTransformSpec spec = rows(columns, down == nullptr ? forms_.plain() : forms_.of(*down));
    if (gated) spec.gate.order = GateOrder::kHalves;
    spec.gate.activation = activation;
    add(spec, "activation", decoder_.gate.activation + (gated ? "(gate) * up" : ""), 1);
    if (down != nullptr) activated_.emplace(down, index);
  }
}

void RowBuilder::add_quantize() {
  for (const ModelLayer& layer : model_.layers) {
    const RowForm form = forms_.of(layer);
    if (!form.is_quantized() || (has_norms_ && forms_.is_behind_norm(layer))) continue;
    const auto made = std::count_if(layer.layers.begin(), layer.layers.end(), [&](int index) {
      return activated_.count({&layer, index}) != 0;
    });
    const int times = std::max<int>(layer.copies, static_cast<int>(layer.layers.size()));
    const int left = times - static_cast<int>(made);
    if (left > 0) add_quantize(form, layer.k, left);
  }
}

}  // namespace

void add_row_kernels(const Decoder& decoder, DType dtype, Model* model) {
  RowBuilder builder(decoder, dtype, model);
  builder.add_norms();
  builder.add_activations();
  builder.add_quantize();
}

}  // namespace heddle
